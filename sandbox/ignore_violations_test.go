package sandbox

import (
	"errors"
	"testing"
)

func TestIgnoreViolations(t *testing.T) {
	const some = `user: {"ignoreViolations": {
		"*": ["/usr/lib/x", "quiet.org"], "path": ["~/.cache", "tmp"], "host": ["*.ads.org", "one.org:8443"], "syscall": ["socket", "ioctl(TIOCSTI)"],
		"limit": ["wallTime"], "npm test": ["ptrace", "/proc/self"], "git": ["*"]}}`
	for _, tt := range []struct {
		kind, what, line string
		want             bool
	}{
		{"path", "/usr/lib/x/y", "ls", true},
		{"path", "/usr/lib/xy", "ls", false},
		{"path", "/home/u/.cache/a", "ls", true},
		{"path", "/set/tmp/a", "ls", true},
		{"path", "/tmp/a", "ls", false},
		{"host", "quiet.org:443", "ls", true},
		{"host", "a.ads.org:443", "ls", true},
		{"host", "ads.org:443", "ls", false},
		{"host", "one.org:8443", "ls", true},
		{"host", "one.org:443", "ls", false},
		{"host", "\x00", "ls", false},
		{"syscall", "socket(AF_UNIX)", "ls", true},
		{"syscall", "socketpair", "ls", false},
		{"syscall", "ioctl(TIOCSTI)", "ls", true},
		{"syscall", "ioctl(TIOCLINUX)", "ls", false},
		{"syscall", "ptrace", "ls", false},
		{"syscall", "ptrace", "npm test -- -v", true},
		{"syscall", "ptrace", "cd x && npm test", true},
		{"syscall", "ptrace", "npm run test", false},
		{"path", "/proc/self/mem", "npm test", true},
		{"limit", "wallTime", "ls", true},
		{"limit", "memory", "ls", false},
		{"limit", "memory", "git gc", true},
		{"path", "/etc/shadow", "git diff", true},
		{"path", "/etc/shadow", "", false},
	} {
		v := &Violation{Kind: tt.kind, Subject: tt.what}
		if got := mergeCheckers(layers(t, some), false).ignored(v, tt.line); got != tt.want {
			t.Errorf("%s %s by %q: got %v", tt.kind, tt.what, tt.line, got)
		}
	}
	v := &Violation{Kind: "path", Subject: "/x"}
	if mergeCheckers(layers(t, `project: {"ignoreViolations": {"*": ["*"]}}`), false).ignored(v, "ls") {
		t.Error("an untrusted folder suppresses the report of refusals")
	}
	if mergeCheckers(nil, false).ignored(v, "ls") || mergeCheckers(layers(t, `user: {"ignoreViolations": {}}`), false).ignored(v, "ls") {
		t.Error("ignored by nothing")
	}
}

func TestIgnoreViolationsRefuses(t *testing.T) {
	for in, field := range map[string]string{
		`{"a*": []}`:                       "ignoreViolations.a*",
		`{"": []}`:                         "ignoreViolations.",
		`{"git; x": []}`:                   "ignoreViolations.git; x",
		`{"*": [""]}`:                      "ignoreViolations.*[0]",
		`{"*": ["/a/*"]}`:                  "ignoreViolations.*[0]",
		`{"path": ["/a", "/b/**"]}`:        "ignoreViolations.path[1]",
		`{"file": ["~other/x"]}`:           "ignoreViolations.file[0]",
		`{"host": ["https://x.org"]}`:      "ignoreViolations.host[0]",
		`{"network": ["a b"]}`:             "ignoreViolations.network[0]",
		`{"syscall": ["Ptrace"]}`:          "ignoreViolations.syscall[0]",
		`{"syscall": ["socket("]}`:         "ignoreViolations.syscall[0]",
		`{"syscall": ["socket(x)"]}`:       "ignoreViolations.syscall[0]",
		`{"limit": ["mem"]}`:               "ignoreViolations.limit[0]",
		`{"git push": ["/ok", "$SECRET"]}`: "ignoreViolations.git push[1]",
	} {
		_, err := decode([]byte(`{"ignoreViolations": ` + in + `}`))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Field != field || e.Hint() == "" || e.Offset == 0 {
			t.Errorf("%s: got %+v", in, err)
		}
	}
	for key, list := range map[string][]string{"a b;": nil, "path": {"*x"}, "./x": nil} {
		if _, err := NewChecker(&Settings{IgnoreViolations: map[string][]string{key: list}}, nil); err == nil {
			t.Errorf("%s: %q was accepted", key, list)
		}
	}
}
