#!/usr/bin/env bash
# Make the base image that the action's image is built on where no registry can be reached: this machine's own
# distribution with Python, git and certificates. Prints the image's name. Needs root (or sudo), debootstrap and a Docker
# engine; starts nothing. The mirror is the one that apt uses here.
set -euo pipefail

packages=python3,python3-venv,git,ca-certificates
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
architecture=$(dpkg --print-architecture)
hash=$({ cat "$0"; echo "$codename $architecture"; } | sha256sum | cut -c1-12)
image=raggate-test-base:$hash

# whoever comes while it is being made waits for it
exec 9>"${TMPDIR:-/tmp}/raggate-test-base-$hash.lock"
flock 9
if docker image inspect "$image" >/dev/null 2>&1; then
	echo "$image"
	exit 0
fi
command -v debootstrap >/dev/null || { echo "debootstrap is not installed" >&2; exit 1; }

# apt's own answer to where packages of this release come from: the first archive that is the release itself
# shellcheck disable=SC2016 # the names are apt's
targets=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI) $(COMPONENT)' 'Created-By: Packages')
mirror=$(awk -v name="$codename" '$1 == name { print $2; exit }' <<<"$targets")
components=$(awk -v name="$codename" '$1 == name { print $3 }' <<<"$targets" | sort -u | paste -sd, -)
case $mirror in
mirror+file:*) # a list of mirrors, as on machines that CI services lend
	list=${mirror#mirror+file:}
	mirror=$(grep -o '^http[^[:space:]]*' "${list%/}" | head -n 1)
	;;
esac
[ -n "$mirror" ] || { echo "apt knows no archive of $codename on this machine" >&2; exit 1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

root=$(mktemp -d)
trap 'as_root rm -rf --one-file-system "$root" "$root.log"' EXIT
as_root debootstrap --variant=minbase --components="${components:-main}" --include="$packages" \
	"$codename" "$root" "$mirror" >"$root.log" 2>&1 || { tail -20 "$root.log" >&2; exit 1; }
# what no program reads; the packages and their lists are most of it
as_root rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/* "$root"/dev/*
as_root tar --numeric-owner -C "$root" -c . | docker import \
	--change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
	--change 'CMD ["python3"]' - "$image" >/dev/null
echo "$image"
