"""Fields that ETMv3 and PTM packets share, written."""
