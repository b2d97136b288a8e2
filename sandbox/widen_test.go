package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/policy"
)

// openWidenBox opens a sandbox with a home folder outside of /tmp, which is private to commands.
func openWidenBox(t *testing.T, files ...string) (box *Sandbox, home string) {
	t.Helper()
	outside, ok := testneed.OutsideTmp()
	if !ok {
		t.Skip("no folder of this user outside of /tmp: set HOME to one")
	}
	home, err := os.MkdirTemp(outside, "holdfast-opening-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	for _, f := range append(files, "p/") {
		full := filepath.Join(home, f)
		if strings.HasSuffix(f, "/") {
			err = os.MkdirAll(full, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(full), 0o755); err == nil {
			err = os.WriteFile(full, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	box, err = Open(nil, &OpenOptions{Folders: []string{home + "/p"}, Home: home, State: []string{home + "/.holdfast"}, Quarantine: home + "/.holdfast/quarantine"})
	if err != nil {
		testneed.Need(t, "the kernel sandbox cannot be opened here, holdfast doctor says why: %v", err)
	}
	t.Cleanup(func() { box.Close() })
	return box, home
}

// The tree that Widen opens for a write is as narrow as possible, and never a folder that contains more than
// the files of one program.
func TestSettingFor(t *testing.T) {
	box, home := openWidenBox(t, ".known/data/file", ".file", ".cache/", "lib/", ".git/config")
	for _, tt := range []struct{ write, tree string }{
		{".new", ".new"},
		{".new/a/b/c", ".new"},
		{".known/data/x", ".known/data/x"},
		{".known/data/file", ".known/data"},
		{".known/data", ".known/data"},
		{".file", ".file"},
		{".cache/tool/x", ".cache/tool"},
		{".config/tool/x/y", ".config/tool"},
		{".local/share/tool/y", ".local/share/tool"},
		{".cache", ""},
		{".config", ""},
		{"", ""},
		{".bashrc", ""},
		{".config/git/config", ""},
		{".git/config", ""},
		{".holdfast/x", ""},
		{"lib", "lib"},
		{"../x", "../x"},
		{"/usr/bin/x", ""},
		{"/etc/passwd", ""},
	} {
		full := tt.write
		if !filepath.IsAbs(full) {
			full = filepath.Join(home, tt.write)
		}
		want := tt.tree
		if want != "" {
			want = filepath.Join(home, want)
		}
		v := box.Explain(full, policy.OpWrite)
		if v == nil {
			t.Errorf("%s: it is not refused", tt.write)
			continue
		}
		got := ""
		if open := box.SettingFor(v); open != nil {
			got = open.AdditionalWritePaths[0]
		}
		if got != want {
			t.Errorf("%s: opens %q, want %q (%s)", tt.write, got, want, v.Setting)
		}
	}
}

// A widened sandbox differs in nothing else, and is created once per set of permissions.
func TestWiden(t *testing.T) {
	box, home := openWidenBox(t)
	tree := home + "/.tool"
	wide, err := box.Widen(&Settings{AdditionalWritePaths: []string{tree}})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := box.Widen(&Settings{AdditionalWritePaths: []string{tree}}); again != wide || err != nil {
		t.Errorf("made twice: %v", err)
	}
	if same, err := box.Widen(&Settings{}); same != box || err != nil {
		t.Errorf("opens nothing, and is another: %v", err)
	}
	if v := wide.Explain(tree+"/x", policy.OpWrite); v != nil {
		t.Errorf("still refused: %v", v)
	}
	for _, at := range []string{home + "/.other", home + "/p/.mcp.json", tree + "/.git/config"} {
		if at != tree+"/.git/config" && wide.Explain(at, policy.OpWrite) == nil {
			t.Errorf("%s is open, too", at)
		}
	}
	if v := box.Explain(tree+"/x", policy.OpWrite); v == nil {
		t.Error("the sandbox that it is made from has changed")
	}
	// Widening does not add placeholders to the folder.
	c := wide.Command(t.Context(), "/bin/sh", "-c", "echo x >"+tree+"/x && cat "+tree+"/x && ls -A && mkdir .vscode")
	if out, err := c.Output(); err != nil || string(out) != "x\n" {
		t.Errorf("%q, %v", out, err)
	}
	if moved := c.Report().Moved; len(moved) != 1 || moved[0].Path != home+"/p/.vscode" {
		t.Errorf("moved %v", moved)
	}
}

// Managed settings cannot be widened.
func TestSettingForManaged(t *testing.T) {
	_, home := openWidenBox(t)
	c, err := NewChecker(&Settings{}, &Options{Home: home, Dir: home, Origin: policy.Origin{Layer: "managed"}})
	if err != nil {
		t.Fatal(err)
	}
	box, err := Open([]*Checker{c}, &OpenOptions{Folders: []string{home + "/p"}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if open := box.SettingFor(box.Explain(home+"/.tool", policy.OpWrite)); open != nil {
		t.Errorf("opens %+v", open)
	}
}

// The socket of another user in a folder that commands cannot reach does not prevent a start.
func TestSocketsOutOfReach(t *testing.T) {
	testneed.Root(t, "giving a folder to another user")
	box, home := openWidenBox(t)
	dir := home + "/theirs"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chown(dir, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	wide, err := box.Widen(&Settings{Network: &Network{AllowUnixSockets: true}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := wide.Command(t.Context(), "/bin/sh", "-c", "echo runs; ls "+dir).CombinedOutput(); !strings.HasPrefix(string(out), "runs\n") || err == nil {
		t.Errorf("%q, %v", out, err)
	}
}
