package chat

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/instructions"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// memorize adds a line to the project's instructions.
func (u *ui) memorize(text string) {
	path := u.memoryFile()
	u.later(func(context.Context) func() {
		err := appendLine(path, "- "+text)
		return func() {
			if err != nil {
				u.fail("note", err)
				return
			}
			u.note("added to " + path + "; the agent reads it from the next session on, or from its next message if you say so")
		}
	})
}

// memoryFile returns the file of the project's instructions: the one that exists, or AGENTS.md.
func (u *ui) memoryFile() string {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if _, err := os.Stat(filepath.Join(u.cwd, name)); err == nil {
			return filepath.Join(u.cwd, name)
		}
	}
	return filepath.Join(u.cwd, "AGENTS.md")
}

func appendLine(path, line string) error {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a file of the project
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// Instructions returns the instruction files of the session.
func (s *Session) Instructions() ([]instructions.File, error) {
	r, err := s.flags.ComposeOptions(s.p, s.at().cwd)
	if err != nil {
		return nil, err
	}
	files, done, err := compose.InstructionFiles(r)
	if err != nil {
		return nil, err
	}
	done()
	return files, nil
}

// openMemory lists the instruction files; a chosen one is opened in $EDITOR.
func (u *ui) openMemory(string) {
	s := u.s
	u.later(func(context.Context) func() {
		files, err := s.Instructions()
		return func() {
			if err != nil {
				u.fail("memory", err)
				return
			}
			u.chooseMemory(files)
		}
	})
}

func (u *ui) chooseMemory(files []instructions.File) {
	var items []pick.Item
	for _, f := range files {
		detail := term.Size(int64(f.Size)) + " · " + string(f.Memory)
		if f.Truncated {
			detail += " · cut"
		}
		items = append(items, pick.Item{Text: u.s.shortFile(f.Path), Value: f.Path, Detail: detail, Preview: func(w, _ int) []string {
			return folded(term.Escape(f.Text), w)
		}})
	}
	if path := u.memoryFile(); len(files) == 0 || !exists(path) {
		items = append(items, pick.Item{Text: u.s.shortFile(path), Value: path, Detail: "create it"})
	}
	u.choose("instruction files; enter opens one in your editor", items, func(it pick.Item) { u.editFile(it.Value) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
