//go:build unix

package chat

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// lend runs what needs the terminal, as the loop does.
func (x *user) lend() {
	x.t.Helper()
	do := x.u.borrow
	if x.u.borrow = nil; do == nil {
		x.t.Fatal("nothing needs the terminal")
	}
	do()
}

// The editor is a command of the shell. What it cannot do leaves the text as it is.
func TestEditor(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	x.settles()
	x.u.p.Stdin, x.u.p.Stdout = pipe(t)
	editor := filepath.Join(t.TempDir(), "my editor")
	write(t, editor, "#!/bin/sh\necho \"$1 and\" >> \"$2\"\n")
	if err := os.Chmod(editor, 0o700); err != nil {
		t.Fatal(err)
	}
	env := x.u.p.Env
	for _, c := range []struct{ visual, editor, want string }{
		{" ", "'" + editor + "' 'two words'", "texttwo words and"},
		{"", "exit 2 #", "text"},
		{"true", "false", "text"},
	} {
		x.settles()
		x.u.p.Env = append(env[:len(env):len(env)], "VISUAL="+c.visual, "EDITOR="+c.editor)
		x.u.box.Set(edit.Entry{Text: "text"})
		x.press("ctrl-x")
		x.lend()
		if got := x.u.box.Text(); got != c.want {
			t.Errorf("%q: %q, want %q", c.editor, got, c.want)
		}
	}
	x.until("the editor failed, the text is unchanged: exit status 2")
}

// In a page, o opens the editor, but not while the user types what to search for.
func TestSearchInPage(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	x.says("/help")
	x.until("/help")
	x.types("/")
	x.types("o")
	if x.u.borrow != nil {
		t.Fatal("the editor is opened")
	}
	x.press("enter")
	x.types("o")
	if x.u.borrow == nil {
		t.Fatal("the editor is not opened")
	}
}
