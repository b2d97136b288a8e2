package audit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// scripts are the shell scripts of docs/formats/audit-trail.md.
func scripts(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../docs/formats/audit-trail.md")
	check(t, err)
	var all []string
	for _, part := range strings.Split(string(b), "\n```sh\n")[1:] {
		script, _, _ := strings.Cut(part, "\n```\n")
		all = append(all, script)
	}
	return all
}

func shell(t *testing.T, dir, script string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A stranger can check a trail and a log without this program, as documented.
func TestVerifyWithoutHoldfast(t *testing.T) {
	for _, tool := range []string{"sh", "sha256sum", "xxd", "openssl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			testneed.Need(t, "no %s on the PATH: apt-get install jq xxd openssl makes this run", tool)
		}
	}
	st := newTamperEnv(t, inFiles{})
	docs := scripts(t)
	if len(docs) != 2 {
		t.Fatalf("%d scripts", len(docs))
	}
	const good = "the leaves were signed\nSignature Verified Successfully\n"
	if out, err := shell(t, st.trailDir(), docs[0]); err != nil || out != good {
		t.Errorf("%v\n%s", err, out)
	}
	log := func(s tamperEnv) string {
		out, err := shell(t, filepath.Dir(s.bytes(s.dir, "alpha")), docs[1], "id=alpha", "trail="+s.trailDir())
		check(t, err)
		return out
	}
	if out := log(st); out != "" {
		t.Errorf("the untouched log:\n%s", out)
	}
	spoiled := st.copy(t)
	spoiled.change(t, leavesName, func(b []byte) []byte { return []byte(strings.Replace(string(b), "beta", "bete", 1)) })
	if out, err := shell(t, spoiled.trailDir(), docs[0]); err == nil || out != "other leaves were signed\n" {
		t.Errorf("a changed leaf: %v\n%s", err, out)
	}
	for _, c := range []struct{ name, want string }{
		{"a changed byte of a payload", "record 7: another payload\n"},
		{"a removed record", "record 8: the chain breaks\nrecord 7: not what a leaf says\n"},
	} {
		s := st.copy(t)
		for _, tamper := range tampering {
			if tamper.name == c.name {
				s.save(t, s.dir, "alpha", tamper.do(s.load(t, s.dir, "alpha")))
			}
		}
		if out := log(s); out != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, out, c.want)
		}
	}
}
