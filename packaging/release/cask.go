package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// caskText is the file with which Homebrew installs a release, on macOS and Linux. The folder
// ~/.holdfast has the user's sessions, so there is no zap. The program is not notarized by Apple,
// so the cask removes the quarantine attribute of the download.
const caskText = `cask "holdfast" do
  arch arm: "arm64", intel: "amd64"
  os macos: "darwin", linux: "linux"

  version "%s"
  sha256 %s

  url "` + homepage + `/releases/download/v#{version}/holdfast_#{version}_#{os}_#{arch}.tar.gz"
  name "Holdfast"
  desc "Runs AI agents that remember, ask first and cannot step outside"
  homepage "` + homepage + `"

  livecheck do
    url :url
    strategy :github_latest
  end

  binary "holdfast_#{version}_#{os}_#{arch}/holdfast"
  manpage "holdfast_#{version}_#{os}_#{arch}/man/holdfast.1"
  bash_completion "holdfast_#{version}_#{os}_#{arch}/completions/holdfast.bash"
  zsh_completion "holdfast_#{version}_#{os}_#{arch}/completions/_holdfast"
  fish_completion "holdfast_#{version}_#{os}_#{arch}/completions/holdfast.fish"

  on_macos do
    postflight do
      system_command "/usr/bin/xattr",
                     args: ["-dr", "com.apple.quarantine", "#{staged_path}/holdfast_#{version}_#{os}_#{arch}/holdfast"]
    end
  end
end
`

// writeCask writes holdfast.rb after the archives. A release for only some systems has no cask.
func (r *release) writeCask() error {
	var sums []string
	for _, t := range []struct {
		target
		name string
	}{
		{target{"darwin", "arm64"}, "arm"}, {target{"darwin", "amd64"}, "intel"},
		{target{"linux", "arm64"}, "arm64_linux"}, {target{"linux", "amd64"}, "x86_64_linux"},
	} {
		data, err := os.ReadFile(filepath.Join(r.out, r.name(t.target, ".tar.gz")))
		if os.IsNotExist(err) {
			fmt.Printf("  no holdfast.rb without %s\n", t.target)
			return nil
		} else if err != nil {
			return err
		}
		sums = append(sums, fmt.Sprintf("%-14s\"%x\"", t.name+":", sha256.Sum256(data)))
	}
	return r.write("holdfast.rb", fmt.Appendf(nil, caskText, r.Version, strings.Join(sums, ",\n         ")), 0o644)
}
