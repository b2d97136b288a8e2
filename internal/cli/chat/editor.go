package chat

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// editBox lets the user edit the text of the box in $EDITOR.
func (u *ui) editBox() {
	u.editText(u.box.Text(), func(text string) { u.box.Set(u.labels.entry(strings.TrimRight(text, "\n"), nil)) })
}

// editText lends the terminal to $EDITOR for a text. Then done gets what the user made of it.
func (u *ui) editText(text string, done func(string)) {
	u.borrow = func() {
		path, err := writeDraft(text)
		if path != "" {
			defer func() { _ = os.Remove(path) }()
		}
		if err == nil {
			err = u.edit(path)
		}
		var b []byte
		if err == nil {
			b, err = os.ReadFile(path)
		}
		if err != nil {
			u.fail("the editor failed, the text is unchanged", err)
			return
		}
		done(string(b))
	}
}

// editFile lends the terminal to $EDITOR for a file.
func (u *ui) editFile(path string) {
	u.borrow = func() {
		if err := u.edit(path); err != nil {
			u.fail("the editor failed", err)
		}
	}
}

// edit runs $EDITOR on the terminal.
func (u *ui) edit(path string) error {
	return u.attached(func(in, out *os.File) error {
		cmd := editorCommand(u.ctx, u.p, path)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = u.cwd, u.p.Env, in, out, out
		return cmd.Run()
	})
}

// editorCommand returns the call of $VISUAL or $EDITOR. As for git, the variable is a command of the
// shell, so it can have arguments and quotes.
func editorCommand(ctx context.Context, p *command.Program, path string) *exec.Cmd {
	editor := cmp.Or(strings.TrimSpace(p.Getenv("VISUAL")), strings.TrimSpace(p.Getenv("EDITOR")), "vi")
	if runtime.GOOS == "windows" {
		words := strings.Fields(editor)
		return exec.CommandContext(ctx, words[0], append(words[1:], path)...) //nolint:gosec // the user's own editor
	}
	return exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, path) //nolint:gosec // the user's own editor
}

// writeDraft writes a text to a private file for the editor.
func writeDraft(text string) (path string, err error) {
	f, err := os.CreateTemp("", "holdfast-*.md")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	return f.Name(), errors.Join(err, f.Close())
}

// attached runs something on the terminal.
func (u *ui) attached(do func(in, out *os.File) error) error {
	in, ok1 := u.p.Stdin.(*os.File)
	out, ok2 := u.p.Stdout.(*os.File)
	if !ok1 || !ok2 {
		return outcome.Invalid("this needs a terminal", "")
	}
	return do(in, out)
}
