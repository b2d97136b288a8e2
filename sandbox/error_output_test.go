package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// Messages of real programs.
func TestErrorLines(t *testing.T) {
	for _, tt := range []struct {
		text  string
		fault fault
		name  string // must be among the names
		write bool
	}{
		// coreutils, busybox
		{"touch: cannot touch '/etc/x': Read-only file system", faultReadOnly, "/etc/x", true},
		{"touch: cannot touch ‘/etc/x’: Read-only file system", faultReadOnly, "/etc/x", true},
		{"touch: /etc/x: Read-only file system", faultReadOnly, "/etc/x", true},
		{"mkdir: cannot create directory '/usr/new': Read-only file system", faultReadOnly, "/usr/new", true},
		{"rm: cannot remove 'a b.txt': Read-only file system", faultReadOnly, "a b.txt", true},
		{"rm: cannot remove 'it'\\''s': Permission denied", faultDenied, `it'\''s`, true},
		{"cp: cannot create regular file '/etc/y': Read-only file system", faultReadOnly, "/etc/y", true},
		{"mv: cannot move 'a' to '/etc/b': Read-only file system", faultReadOnly, "/etc/b", true},
		{"mv: cannot move '.git' to 'g': Device or resource busy", faultBusy, ".git", true},
		{"ln: failed to create symbolic link '/usr/l': Read-only file system", faultReadOnly, "/usr/l", true},
		{"cat: /etc/shadow: Permission denied", faultDenied, "/etc/shadow", false},
		{"cat: /a b/c: Permission denied", faultDenied, "/a b/c", false},
		{"cat: can't open '/etc/shadow': Permission denied", faultDenied, "/etc/shadow", false},
		{"ls: cannot open directory '/root': Permission denied", faultDenied, "/root", false},
		{"find: ‘/root/.ssh’: Permission denied", faultDenied, "/root/.ssh", false},
		{"grep: .env: Permission denied", faultDenied, ".env", false},
		{"tee: /etc/x: Read-only file system", faultReadOnly, "/etc/x", false},
		{"chmod: changing permissions of '/etc/passwd': Read-only file system", faultReadOnly, "/etc/passwd", true},
		{"chown: changing ownership of 'f': Operation not permitted", faultPerm, "f", true},
		{"sed: couldn't open temporary file /etc/sedX: Read-only file system", faultReadOnly, "/etc/sedX", false},
		{"dd: failed to open '/dev/sda': Permission denied", faultDenied, "/dev/sda", false},
		{"tar: x/y: Cannot open: Permission denied", faultDenied, "x/y", false},
		// shells
		{"bash: line 1: /etc/x: Read-only file system", faultReadOnly, "/etc/x", false},
		{"bash: /etc/x: Permission denied", faultDenied, "/etc/x", false},
		{"sh: 1: cannot create /etc/x: Read-only file system", faultReadOnly, "/etc/x", true},
		{"/bin/sh: 1: cannot open /root/x: Permission denied", faultDenied, "/root/x", false},
		{"sh: 1: curl: Permission denied", faultDenied, "curl", false},
		{"zsh: permission denied: /etc/x", faultDenied, "/etc/x", false},
		{"zsh:1: read-only file system: /etc/x", faultReadOnly, "/etc/x", false},
		{"bash: fork: retry: Resource temporarily unavailable", faultFork, "", false},
		{"sh: 1: Cannot fork", faultFork, "", false},
		// languages
		{"open /etc/x: permission denied", faultDenied, "/etc/x", false},
		{"panic: open /etc/x: read-only file system", faultReadOnly, "/etc/x", false},
		{"mkdir /usr/x y: read-only file system", faultReadOnly, "/usr/x y", true},
		{"PermissionError: [Errno 13] Permission denied: '/root/x'", faultDenied, "/root/x", false},
		{"OSError: [Errno 30] Read-only file system: '/etc/x'", faultReadOnly, "/etc/x", false},
		{"OSError: [Errno 30] Read-only file system: '/etc/a' -> '/etc/b'", faultReadOnly, "/etc/b", false},
		{"Error: EROFS: read-only file system, open '/etc/x'", faultReadOnly, "/etc/x", false},
		{"Error: EACCES: permission denied, mkdir '/usr/lib/node_modules/x'", faultDenied, "/usr/lib/node_modules/x", true},
		{"npm error Error: EROFS: read-only file system, mkdir '/root/.npm'", faultReadOnly, "/root/.npm", true},
		{"error: failed to write `/c/Cargo.lock`\n\nCaused by:\n  Read-only file system (os error 30)", faultReadOnly, "/c/Cargo.lock", true},
		{"failed to open `/x`: Permission denied (os error 13)", faultDenied, "/x", false},
		{"java.io.FileNotFoundException: /etc/x (Read-only file system)", faultReadOnly, "/etc/x", false},
		{"java.nio.file.AccessDeniedException: /etc/x", faultDenied, "/etc/x", false},
		{"ruby: No such file\n/x.rb:1:in `initialize': Read-only file system @ rb_sysopen - /etc/x (Errno::EROFS)", faultReadOnly, "/etc/x", false},
		// Node, which does not report the kernel's error
		{"Error: ENOENT: no such file or directory, mkdir '/h/.tool'", faultMissing, "/h/.tool", true},
		// git
		{"error: could not lock config file .git/config: Read-only file system", faultReadOnly, ".git/config", true},
		{"error: could not write config file .git/config: Device or resource busy", faultBusy, ".git/config", true},
		{"fatal: could not create work tree dir 'x': Read-only file system", faultReadOnly, "x", true},
		{"error: unable to create file a/b: Read-only file system", faultReadOnly, "a/b", true},
		// the network
		{"curl: (6) Could not resolve host: example.com", faultHost, "example.com", false},
		{"fatal: unable to access 'https://x.test/r/': Could not resolve host: x.test", faultHost, "x.test", false},
		{"wget: unable to resolve host address ‘x.test’", faultHost, "x.test", false},
		{"ssh: Could not resolve hostname github.com: Temporary failure in name resolution", faultHost, "github.com", false},
		{"npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org", faultHost, "registry.npmjs.org", false},
		{"Get \"https://proxy.golang.org/x\": dial tcp: lookup proxy.golang.org: no such host", faultHost, "proxy.golang.org", false},
		{"dial tcp: lookup a.test on 127.0.0.1:53: dial udp 127.0.0.1:53: connect: network is unreachable", faultHost, "a.test", false},
		{"ConnectionError: HTTPSConnectionPool(host='pypi.org', port=443): [Errno -3] Temporary failure in name resolution", faultHost, "pypi.org", false},
		{"connect: Network is unreachable", faultHost, "", false},
	} {
		list := errorLines(tt.text)
		if len(list) != 1 {
			t.Errorf("%q: %d error lines", tt.text, len(list))
			continue
		}
		c := list[0]
		if c.fault != tt.fault || c.write != tt.write || tt.name != "" && !slices.Contains(c.names, tt.name) {
			t.Errorf("%q: fault %d, write %v, names %q", tt.text, c.fault, c.write, c.names)
		}
	}
}

// Messages that do not report a system error.
func TestNoErrorLines(t *testing.T) {
	for _, text := range []string{
		"", "ok", "cat: x: No such file or directory", "syntax error near '/etc/x'", "PASS", "it's all fine",
		strings.Repeat("\u212a", 10) + "read-only file system", // a letter whose lower case form is shorter
	} {
		if list := errorLines(text); len(list) != 0 {
			t.Errorf("%q: %+v", text, list)
		}
	}
}

func TestErrorLineLimit(t *testing.T) {
	text := strings.Repeat("cat: /x: Permission denied\n", 10_000)
	if n := len(errorLines(text)); n != maxErrorLines {
		t.Errorf("%d error lines", n)
	}
}

func FuzzErrorLines(f *testing.F) {
	f.Add("touch: cannot touch '/etc/x': Read-only file system")
	f.Add("'\x00': permission denied: ''")
	f.Add("`‘’“”\"'")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range errorLines(text) {
			for _, n := range c.names {
				if n == "" || strings.ContainsAny(n, "\x00\n") || len(n) > maxName {
					t.Fatalf("%q: name %q", text, n)
				}
			}
		}
	})
}
