"""GitLab: the note on a merge request."""
