package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	home, project, managed := filepath.Join(dir, "home"), filepath.Join(dir, "p"), filepath.Join(dir, "etc", "settings.json")
	for _, d := range []string{home, filepath.Join(project, ".holdfast"), filepath.Dir(managed)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(project, ".holdfast", "settings.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"permissions": {"deny": ["Bash(sudo:*)"]}}`)
	s, err := settings.Load(&settings.Options{Home: home, Cwd: project, Project: project, Managed: managed})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		managed: "policy_settings",
		filepath.Join(dir, "etc/settings.d/x.json"):             "policy_settings",
		filepath.Join(dir, "etc/settings.d/x.txt"):              "",
		filepath.Join(home, "settings.json"):                    "user_settings",
		file:                                                    "project_settings",
		filepath.Join(project, ".holdfast/settings.local.json"): "local_settings",
		filepath.Join(project, "settings.json"):                 "",
	} {
		if got, ok := s.SourceOf(file); got != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	write(`{"permissions": {"deny": ["Bash(sudo:*)", "Bash(curl:*)"], "ask": ["Write"], "allow": ["Bash(ls)"]}}`)
	now, err := s.Reload()
	if err != nil {
		t.Fatal(err)
	}
	rules, n, err := now.StricterRules(s)
	if err != nil || n != 2 {
		t.Errorf("tightened by %d: %v", n, err)
	}
	v := rules.Evaluate(policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "curl x", Cwd: project})
	if v.Effect != policy.Deny {
		t.Errorf("the new rule says %+v", v)
	}
	if _, n, err := s.StricterRules(now); n != 0 || err != nil {
		t.Errorf("loosened by %d: %v", n, err)
	}
	write(`{"permissions": `)
	if _, err := s.Reload(); err == nil {
		t.Error("what cannot be read is read")
	}
}
