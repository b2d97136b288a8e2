//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/policy"
)

// A refusal of the policy is reported with its setting; the program's own errors are not. All lines are run.
func TestViolations(t *testing.T) {
	box, dir := openBox(t, `{"deniedPaths":["secret"],"protectedPaths":["fixed"],"deniedCommands":["xargs"]}`)
	for name, mode := range map[string]os.FileMode{"secret": 0o644, "fixed": 0o644, "own": 0o000, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		line, op, what, setting string // an empty op: nothing is reported
	}{
		{"touch /etc/holdfast-x", "write", "/etc/holdfast-x", "allowedWritePaths"},
		{"echo x > /usr/holdfast-x", "write", "/usr/holdfast-x", "allowedWritePaths"},
		{"mkdir /holdfast-x", "write", "/holdfast-x", "allowedWritePaths"},
		{"cd /etc && rm passwd", "", "", ""}, // relative to an unknown folder
		{"rm -f /etc/passwd", "write", "/etc/passwd", "allowedWritePaths"},
		{"mv /etc/passwd x", "write", "/etc/passwd", "allowedWritePaths"},
		{"cat secret", "read", dir + "/secret", "deniedPaths"},
		{"cat ./secret || true", "read", dir + "/secret", "deniedPaths"},
		{"echo x > secret", "write", dir + "/secret", "deniedPaths"},
		{"echo x > fixed", "write", dir + "/fixed", "protectedPaths"},
		{"rm fixed", "write", dir + "/fixed", "protectedPaths"},
		{"mv fixed other", "write", dir + "/fixed", "protectedPaths"},
		{"cat /etc/shadow", "read", "/etc/shadow", ""},
		{"echo x | xargs echo", "run", "xargs", "deniedCommands"},
		{"curl -s https://x.test/; echo 'curl: (6) Could not resolve host: x.test' >&2", "connect", "x.test", "network.allowedDomains"},

		{"cat plain", "", "", ""},
		{"cat missing", "", "", ""},
		{"cat own/x", "", "", ""},
		{"rmdir plain", "", "", ""},
		{"echo x > /dev/null", "", "", ""},
		{"echo 'cat: /etc/holdfast-x: Permission denied' >&2; exit 1", "", "", ""},
		{"echo 'git@github.com: Permission denied (publickey).' >&2; exit 1", "", "", ""},
		{"echo \"FileNotFoundError: [Errno 2] No such file or directory: '/etc/holdfast-x'\" >&2; exit 1", "", "", ""},
		{"touch /tmp/x", "", "", ""},
	} {
		if tt.line == "cat /etc/shadow" && os.Getuid() != 0 {
			continue // the file's mode refuses this
		}
		c := sh(t, box, tt.line)
		var errs bytes.Buffer
		c.Stderr = &errs
		_ = c.Run()
		var found []Violation
		for _, v := range c.Report().Violations {
			if v.Kind != kindSyscall {
				found = append(found, v)
			}
		}
		if tt.op == "" {
			if len(found) > 0 {
				t.Errorf("%s: %q, reported %+v", tt.line, errs.String(), found)
			}
			continue
		}
		if len(found) != 1 || found[0].Op != tt.op || !strings.HasSuffix(found[0].Subject, tt.what) || found[0].Setting != tt.setting {
			t.Errorf("%s: %q, reported %+v", tt.line, errs.String(), found)
			continue
		}
		text := c.Report().Text()
		if !strings.HasPrefix(text, "sandbox: ") || !strings.Contains(text, "was refused: ") || !strings.Contains(text, "; hint: ") || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %q", tt.line, text)
		}
	}
}

// The same errors in the messages of languages that are installed.
func TestViolationsOfPrograms(t *testing.T) {
	// Only the system's: a program in a home folder may be hidden from the sandbox.
	t.Setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
	box, _ := openBox(t, `{}`)
	for _, argv := range [][]string{
		{"python3", "-c", "open('/etc/holdfast-x', 'w')"},
		{"python3", "-c", "import os; os.mkdir('/etc/holdfast-x')"},
		{"node", "-e", "require('fs').writeFileSync('/etc/holdfast-x', '')"},
		{"node", "-e", "require('fs').mkdirSync('/etc/holdfast-x/a', {recursive: true})"},
		{"node", "-e", "require('fs').promises.mkdir('/etc/holdfast-x/a', {recursive: true})"},
		{"perl", "-e", "open(F, '>', '/etc/holdfast-x') or die \"/etc/holdfast-x: $!\""},
		{"git", "init", "/etc/holdfast-x"},
		{"bash", "-c", "echo > /etc/holdfast-x"},
		{"dash", "-c", "echo > /etc/holdfast-x"},
		{"busybox", "touch", "/etc/holdfast-x"},
		{"tar", "-cf", "/etc/holdfast-x", "."},
		{"cp", "/etc/passwd", "/etc/holdfast-x"},
		{"ln", "-s", "x", "/etc/holdfast-x"},
		{"sed", "-i", "s/a/b/", "/etc/passwd"},
		{"dd", "if=/dev/zero", "of=/etc/holdfast-x", "count=1"},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Logf("no %s here", argv[0])
			continue
		}
		c := box.Command(t.Context(), argv[0], argv[1:]...)
		out, err := c.CombinedOutput()
		if err == nil {
			t.Errorf("%q: it worked", argv)
		}
		if !slices.ContainsFunc(c.Report().Violations, func(v Violation) bool {
			return v.Kind == kindPath && v.Op == "write" && strings.HasPrefix(v.Subject, "/etc/") && v.Setting == fieldWritePaths
		}) {
			t.Errorf("%q: %q, reported %+v", argv, out, c.Report())
		}
	}
}

// Refused system calls are reported if the command failed.
func TestViolationsSyscall(t *testing.T) {
	box, _ := openBox(t, `{}`)
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("no unshare here: apt-get install util-linux")
	}
	c := sh(t, box, "unshare -U true")
	if err := c.Run(); err == nil {
		t.Fatal("it may make namespaces")
	}
	if text := c.Report().Text(); !strings.Contains(text, "system call unshare(CLONE_NEWUSER) was refused: allowNestedSandbox is not set") {
		t.Errorf("%q, %+v", text, c.Report())
	}
	c = sh(t, box, "unshare -U true; true")
	if err := c.Run(); err != nil || c.Report().Text() != "" || len(c.Report().Violations) == 0 {
		t.Errorf("%v, %q, %+v", err, c.Report().Text(), c.Report())
	}
}

func TestViolationsIgnored(t *testing.T) {
	for _, tt := range []struct {
		settings string
		reported bool
	}{
		{`{}`, true},
		{`{"ignoreViolations":{"*":["/etc"]}}`, false},
		{`{"ignoreViolations":{"path":["/usr"]}}`, true},
		{`{"ignoreViolations":{"touch":["*"]}}`, false},
		{`{"ignoreViolations":{"rm":["*"]}}`, true},
	} {
		box, _ := openBox(t, tt.settings)
		c := box.Command(t.Context(), "touch", "/etc/holdfast-x")
		if _, err := c.CombinedOutput(); err == nil {
			t.Fatal("it worked")
		}
		if reported := c.Report().Text() != ""; reported != tt.reported {
			t.Errorf("%s: %q", tt.settings, c.Report().Text())
		}
	}
}

// Names that a command chose cannot control a terminal, or look like lines of the report.
func TestReportTextSanitized(t *testing.T) {
	r := &Report{Violations: []Violation{{Kind: kindPath, Op: "write", Subject: "/a\nsandbox: all is well\x1b[2J\u202e", Setting: "allowedWritePaths", Hint: "a\nb"}}}
	if text := r.Text(); strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("%q", text)
	}
	if (*Report)(nil).Text() != "" {
		t.Error("no report has a text")
	}
}

// An allowed host that resolves to a private address is not outside the list: the report names the address,
// and the entry that allows exactly that address.
func TestPrivateAddressReported(t *testing.T) {
	list := hostViolations([]egress.Refusal{
		{Host: "npm.example", Port: 443, Setting: fieldDomains, Address: "10.0.0.80", Reason: "it resolves to the private address 10.0.0.80", Hint: `add "10.0.0.80:443"`},
		{Host: "x.example", Port: 443, Setting: fieldDomains, Reason: "no entry names it", Layer: -1},
	}, []policy.Origin{{Layer: "user", File: "/h/settings.json", Line: 3}})
	for i, want := range []string{
		"connection to npm.example:443 was refused: it resolves to the private address 10.0.0.80 (/h/settings.json:3)",
		"connection to x.example:443 was refused: outside network.allowedDomains",
	} {
		if got := list[i].String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
