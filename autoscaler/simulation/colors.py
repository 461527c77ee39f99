"""Colors of pictures: those of profiles, and of what is not one."""

# By the compute slices of a profile, which is what its name begins with.
COLORS = {
    "1g": "#e9b44c",
    "2g": "#43a692",
    "3g": "#3b6fb6",
    "4g": "#8a63b8",
    "7g": "#c4513a",
}
# What is no instance, and where there is nothing.
OFF, EMPTY = "#8d949e", "#eceef1"
TEXT = "#2b3038"


def color_of(profile: str) -> str:
    """Return the color of a profile."""
    return COLORS.get(profile.split(".")[0], OFF)
