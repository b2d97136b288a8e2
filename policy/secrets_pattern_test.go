package policy

import "testing"

// A pattern that targets a secret is a read of a secret, like the secret's name.
func TestPatternsForSecrets(t *testing.T) {
	w := environment{folders: []string{"/w"}, home: "/home/u"}
	for line, want := range map[string]actionKind{
		"cat .en*": kindSecret, "cat .e?v": kindSecret, "cat .[e]nv": kindReadOutside, "cat .*": kindReadOutside, "cat a/.env.*": kindSecret,
		"cat *.pem": kindSecret, "cat x*.p?m": kindSecret, "cat *.[k]ey": kindReadOutside, "cat id_rs?": kindSecret, "cat id_*": kindSecret,
		"cat sec*/*": kindSecret, "cat */.env": kindSecret, "cat cred*.json": kindSecret, "cat service-acc*": kindSecret,
		"cat *": kindSafe, "cat *.go": kindSafe, "cat *.*": kindSafe, "cat s*": kindSafe, "cat src/*.json": kindSafe, "cat main*": kindSafe,
		"cat id_rsa*.pub": kindSafe, "cat .env.exam*": kindSecret, "cat '.en*'": kindSafe,
		"echo .en*": kindSafe,
	} {
		if got := w.kind(w.viewOf(bash(line))); got.kind != want {
			t.Errorf("%s: %q (%s), want %q", line, got.kind, got.why, want)
		}
	}
}

// Paths through the links of /proc are treated like the paths they lead to.
func TestThroughProc(t *testing.T) {
	for p, want := range map[string]string{
		"/proc/self/root/etc/shadow": "/etc/shadow", "/proc/1/root": "/", "/proc/thread-self/root/x": "/x", "/proc/self/task/7/root/x": "/x",
		"/proc/self/cwd/.env": "/w/.env", "/proc/self/root/proc/self/cwd/a": "/w/a", "/proc/self/environ": "/proc/self/environ",
		"/proc/root": "/proc/root", "/procs/self/root/x": "/procs/self/root/x", "/proc/self/cwd": "/w",
	} {
		if got := throughProc(p, "/w"); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
	if got := throughProc("/proc/self/cwd/a", ""); got != "/proc/self/cwd/a" {
		t.Error(got)
	}
	judgeAll(t, []string{"allow Bash(cat:*)", "deny Read(//etc/shadow)", "deny Read(.env)"}, []judged{
		{bash("cat /proc/self/root/etc/shadow"), Deny},
		{bash("cat /proc/self/cwd/.env"), Deny},
		{read("/proc/1/root/etc/shadow"), Deny},
		{bash("cat /proc/cpuinfo"), Allow},
	})
}
