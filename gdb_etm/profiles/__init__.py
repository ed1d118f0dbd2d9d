"""What a chip's maker decided and no identification register tells: one TOML file for each chip, and who reads them."""
