package compose

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/yamltree"
)

// maxStyle is the maximum size of an output style, in bytes.
const maxStyle = 64 << 10

//go:embed styles/*.md
var builtInStyles embed.FS

// styleText returns the text that the selected output style adds to the system prompt; "" for the
// default style. The project's styles are used if its texts are trusted.
//
//	the project's .holdfast/output-styles, .claude/output-styles ─► the user's ─► built in
func styleText(e *env.Env, s *settings.Settings) (string, error) {
	name := s.OutputStyle.Value
	if name == "" || strings.EqualFold(name, "default") {
		return "", nil
	}
	trust, err := s.TrustedTexts()
	if err != nil {
		return "", err
	}
	var dirs []string
	if trust.Folder {
		dirs = append(dirs, filepath.Join(s.Project, ".holdfast"), filepath.Join(s.Project, ".claude"))
	}
	if home, err := e.Home(); err == nil {
		dirs = append(dirs, home)
	}
	if user := e.UserHome(); user != "" {
		dirs = append(dirs, filepath.Join(user, ".claude"))
	}
	names := []string{"default"}
	for _, dir := range dirs {
		text, found, err := findStyle(filepath.Join(dir, "output-styles"), name)
		if text != "" || err != nil {
			return text, err
		}
		names = append(names, found...)
	}
	list, err := fs.Glob(builtInStyles, "styles/*.md")
	if err != nil {
		return "", err
	}
	for _, file := range list {
		base := strings.TrimSuffix(filepath.Base(file), ".md")
		if strings.EqualFold(base, name) {
			b, err := builtInStyles.ReadFile(file)
			return strings.TrimSpace(string(b)), err
		}
		names = append(names, base)
	}
	slices.Sort(names)
	if s.Program(s.OutputStyle.Origin.File) != "" { // chosen for another program
		e.Warn("%s: unknown output style %q; using the default", settings.OriginText(s.OutputStyle.Origin), name)
		return "", nil
	}
	return "", outcome.Invalid(
		fmt.Sprintf("%s: unknown output style %q", settings.OriginText(s.OutputStyle.Origin), name),
		"use one of "+strings.Join(slices.Compact(names), ", ")+", or create output-styles/NAME.md in HOLDFAST_HOME",
	)
}

// findStyle finds a style by its file name or the name in its front matter, ignoring case. It does
// not follow links out of the folder.
func findStyle(dir, name string) (text string, names []string, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	files, err := fs.Glob(root.FS(), "*.md")
	if err != nil {
		return "", nil, err
	}
	for _, file := range files {
		title, body, err := readStyle(root, file)
		base := strings.TrimSuffix(file, ".md")
		if strings.EqualFold(base, name) || title != "" && strings.EqualFold(title, name) {
			if err == nil && body == "" {
				err = errors.New("it is empty")
			}
			if err != nil {
				return "", nil, outcome.Invalid(fmt.Sprintf("output style %s: %v", filepath.Join(dir, file), err), "repair the file, or choose another outputStyle")
			}
			return body, nil, nil
		}
		names = append(names, base)
	}
	return "", names, nil
}

func readStyle(root *os.Root, file string) (title, body string, err error) {
	f, err := root.Open(file)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxStyle+1))
	if err == nil && len(b) > maxStyle {
		err = fmt.Errorf("it is larger than %d KiB", maxStyle>>10)
	}
	if err != nil {
		return "", "", err
	}
	t, err := yamltree.Split(b)
	if err != nil {
		return "", "", err
	}
	for _, m := range t.Front.Members {
		if m.Key == "name" && m.Value.Kind == jsontree.Text {
			title = m.Value.Text
		}
	}
	return title, strings.TrimSpace(t.Body), nil
}
