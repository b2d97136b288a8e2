#!/bin/sh
# Installs holdfast: downloads the archive for this machine, compares its checksum,
# verifies the signature of the checksums, and copies the program, its man page and its
# completions.
#
#   curl -fsSL https://github.com/holdfast-dev/holdfast/releases/latest/download/install.sh | sh
#
#   HOLDFAST_INSTALL_DIR=DIR    installs below DIR; default ~/.local, and /usr/local as root
#   HOLDFAST_INSTALL_FROM=URL   downloads from URL, for example from a mirror
#
# sh install.sh --uninstall removes the installed files. Sessions in ~/.holdfast stay.
set -eu

version=''
signers=''

say() { echo "install: $*"; }
fail() { echo "install: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# machine prints SYSTEM_PROCESSOR as in the names of archives.
machine() {
  system=$(uname -s) processor=$(uname -m)
  case $system in
    Linux) system=linux ;;
    Darwin)
      system=darwin
      # under Rosetta, uname reports another processor
      if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then processor=arm64; fi
      ;;
    *) fail "there is no holdfast for $system; on Windows, use WSL" ;;
  esac
  case $processor in
    x86_64 | amd64) processor=amd64 ;;
    arm64 | aarch64) processor=arm64 ;;
    *) fail "there is no holdfast for the processor $processor" ;;
  esac
  echo "${system}_$processor"
}

# get FILE downloads a file of the release into the folder $tmp.
get() {
  if has curl; then
    curl -fsSL --retry 3 -o "$tmp/$1" "$from/$1" || fail "cannot download $from/$1"
  elif has wget; then
    wget -q -O "$tmp/$1" "$from/$1" || fail "cannot download $from/$1"
  else
    fail "curl or wget is needed"
  fi
}

# checksum FILE prints the SHA-256 of a file.
checksum() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  elif has openssl; then
    openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else
    fail "sha256sum, shasum or openssl is needed"
  fi
}

# verify checks the signature of the checksums, if this script contains the signer's key and
# the machine has OpenSSH 8.0 or later.
verify() {
  if [ -z "$signers" ]; then
    say "this version is not signed; only its checksum is compared"
    return 0
  fi
  if ! has ssh-keygen; then
    say "there is no ssh-keygen; the signature is not verified"
    return 0
  fi
  get checksums.txt.sig
  echo "$signers" >"$tmp/signers"
  if ssh-keygen -Y verify -f "$tmp/signers" -I holdfast -n holdfast-release -s "$tmp/checksums.txt.sig" \
    <"$tmp/checksums.txt" >"$tmp/verified" 2>&1; then
    return 0
  fi
  case $(cat "$tmp/verified") in
    *"unknown option"* | *"illegal option"* | *"invalid option"*)
      say "ssh-keygen is older than OpenSSH 8.0; the signature is not verified" ;;
    "No user exists for uid"*)
      say "this account has no name, so ssh-keygen does not start; the signature is not verified" ;;
    *) fail "the signature of checksums.txt is wrong: $(cat "$tmp/verified")" ;;
  esac
}

# place FROM TO MODE installs a file, also over a running program.
place() {
  if mkdir -p "$(dirname "$prefix/$2")" && cp "$1" "$prefix/$2.new" && chmod "$3" "$prefix/$2.new" && mv -f "$prefix/$2.new" "$prefix/$2"; then
    return 0
  fi
  fail "cannot write $prefix/$2; choose another folder with HOLDFAST_INSTALL_DIR"
}

main() {
  if [ "$(id -u)" -eq 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
  prefix=${HOLDFAST_INSTALL_DIR:-$prefix}
  case ${1:-} in
    '') ;;
    --uninstall)
      rm -f "$prefix/bin/holdfast" "$prefix/share/man/man1/holdfast.1" "$prefix/share/bash-completion/completions/holdfast" \
        "$prefix/share/zsh/site-functions/_holdfast" "$prefix/share/fish/vendor_completions.d/holdfast.fish"
      rm -rf "$prefix/share/doc/holdfast"
      say "removed from $prefix"
      return 0
      ;;
    *) fail "unknown argument $1" ;;
  esac
  [ -n "$version" ] || fail "this is the source of the script; each release has its own"
  from=${HOLDFAST_INSTALL_FROM:-https://github.com/holdfast-dev/holdfast/releases/download/v$version}
  name=holdfast_${version}_$(machine)
  tmp=$(mktemp -d)
  trap 'rm -rf "$tmp"' EXIT
  trap 'exit 1' HUP INT TERM

  say "downloading $name.tar.gz"
  get checksums.txt
  verify
  want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$tmp/checksums.txt")
  [ -n "$want" ] || fail "checksums.txt does not list $name.tar.gz"
  get "$name.tar.gz"
  got=$(checksum "$tmp/$name.tar.gz")
  [ "$got" = "$want" ] || fail "the checksum of $name.tar.gz is $got, not $want"
  tar -xzf "$tmp/$name.tar.gz" -C "$tmp"
  cd "$tmp/$name"
  place holdfast bin/holdfast 755
  place man/holdfast.1 share/man/man1/holdfast.1 644
  place completions/holdfast.bash share/bash-completion/completions/holdfast 644
  place completions/_holdfast share/zsh/site-functions/_holdfast 644
  place completions/holdfast.fish share/fish/vendor_completions.d/holdfast.fish 644
  place LICENSE share/doc/holdfast/LICENSE 644
  place THIRD_PARTY_NOTICES.txt share/doc/holdfast/THIRD_PARTY_NOTICES.txt 644
  say "installed $("$prefix/bin/holdfast" version)"
  case :$PATH: in
    *":$prefix/bin:"*) say "try: holdfast demo" ;;
    *) say "$prefix/bin is not in PATH; try: $prefix/bin/holdfast demo" ;;
  esac
}

# At the end, so that an incomplete download runs nothing.
main "$@"
