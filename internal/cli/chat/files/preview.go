package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/term"
)

// maxPreview is how many bytes of a file are read for a preview.
const maxPreview = 64 << 10

const (
	dim   = "\x1b[2m"
	reset = "\x1b[m"
)

// preview returns the function that shows the start of a file, or the names in a folder.
func (x *Index) preview(rel string) func(width, height int) []string {
	return func(width, height int) []string {
		lines, err := preview(x.dir, rel, height)
		if err != nil {
			if e, ok := errors.AsType[*fs.PathError](err); ok {
				err = e.Err
			}
			return []string{dim + term.Escape(err.Error()) + reset}
		}
		return lines
	}
}

func preview(dir, rel string, height int) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(path.Clean(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return names(f, height)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPreview))
	if err != nil {
		return nil, err
	}
	if kind := imageKind(rel); kind != "" {
		return []string{dim + kind + " image, " + term.Count(int(info.Size()), "byte") + reset}, nil
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return []string{dim + "binary file, " + term.Count(int(info.Size()), "byte") + reset}, nil
	}
	return numbered(string(b), height), nil
}

// numbered returns the first lines of a text with their numbers.
func numbered(text string, height int) (lines []string) {
	digits := len(strconv.Itoa(height))
	for l := range strings.Lines(text) {
		if len(lines) == height {
			break
		}
		const most = 400 // no terminal is wider
		l = strings.TrimRight(l, "\r\n")
		if len(l) > most {
			l = strings.ToValidUTF8(l[:most], "")
		}
		l = strings.ReplaceAll(term.Escape(l), "\t", "    ")
		lines = append(lines, fmt.Sprintf("%s%*d%s %s", dim, digits, len(lines)+1, reset, l))
	}
	return lines
}

// maxNames is how many names in a folder are read for a preview.
const maxNames = 1000

// names returns the first names in a folder. Hidden ones are left out, as in the list.
func names(f *os.File, height int) (lines []string, err error) {
	entries, err := f.ReadDir(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if len(lines) == height {
			break
		}
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := strings.ReplaceAll(term.EscapeStrict(e.Name()), "\n", " ")
		if e.IsDir() {
			name += "/"
		}
		lines = append(lines, name)
	}
	return lines, nil
}

// imageKind returns the kind of an image that the Read tool shows to a model, by its name, or "".
func imageKind(name string) string {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return strings.ToUpper(ext[1:])
	}
	return ""
}
