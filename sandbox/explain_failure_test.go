//go:build linux && (amd64 || arm64)

package sandbox

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// A failed commit signature reports that the key is a secret, and what to do.
func TestSigningIsExplained(t *testing.T) {
	root := plant(t, "ws/", "home/.gnupg/pubring.kbx", "home/.ssh/id_ed25519.pub", "home/.holdfast/")
	s := opened(t, root, testLayer{Settings: Settings{AllowedReadPaths: []string{"@/home", "@/ws"}}})
	for _, tt := range []struct{ message, what string }{
		{"error: gpg failed to sign the data\nfatal: failed to write commit object", ".gnupg"},
		{"error: gpg failed to sign the data:\n(no gpg output)", ".gnupg"},
		{"error: Couldn't load public key " + root + "/home/.ssh/id_ed25519.pub: No such file or directory?", ".ssh"},
		{"error: No private key found for public key \"/h/.ssh/id.pub\"?", ".ssh"},
		{"fatal: failed to write commit object", ""},
		{"I would sign the data", ""},
	} {
		c := s.Command(t.Context(), "/bin/sh", "-c", "printf '%s\n' \"$SAYS\" >&2; exit 128")
		c.Env = []string{"HOME=" + root + "/home", "SAYS=" + tt.message}
		c.Stderr = new(strings.Builder)
		_ = c.Run()
		text := c.Report().Text()
		if reported := strings.Contains(text, "git -c commit.gpgsign=false commit"); reported != (tt.what != "") || reported && !strings.Contains(text, "/home/"+tt.what+" ") {
			t.Errorf("%s: %q", tt.message, text)
		}
	}
}

// The socket of a program outside the sandbox is not offered for approval: the setting for unix sockets does
// not allow it.
func TestForeignSockets(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		testneed.Need(t, "no python3 on the PATH: apt-get install python3 makes this run")
	}
	s, dir := openBox(t, `{}`)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const try = `python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>/dev/null; echo "dial $SOCKET: operation not permitted" >&2; exit 1`
	for socket, foreign := range map[string]bool{
		"unix:///var/run/docker.sock": true, "/run/user/1000/podman/podman.sock": true,
		"/tmp/own.sock": false, "unix://" + filepath.Join(dir, "s"): false, "/etc/passwd": false,
	} {
		c := sh(t, s, try)
		c.Env = append(os.Environ(), "SOCKET="+socket)
		c.Stderr = new(strings.Builder)
		_ = c.Run()
		r := c.Report()
		at := slices.IndexFunc(r.Violations, func(v Violation) bool { return v.Kind == kindSyscall })
		if at < 0 {
			t.Fatalf("%s: %+v", socket, r.Violations)
		}
		v := &r.Violations[at]
		if open := s.SettingFor(v); (open == nil) != foreign || strings.Contains(r.Text(), "excludedCommands") != foreign {
			t.Errorf("%s: opened by %v: %s", socket, open, r.Text())
		}
	}
}
