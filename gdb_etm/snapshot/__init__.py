"""A capture as a folder: the ini files and dumps that Arm Development Studio and OpenCSD read too."""
