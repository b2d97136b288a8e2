package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// DefaultManaged is the path of the managed settings. The files in the folder settings.d next to it
// are read as well, in the order of their names; the last is the strongest.
const DefaultManaged = "/etc/holdfast/settings.json"

// managed reads the managed settings, the strongest first.
func (o *Options) managed() ([]source, error) {
	if o.Portable != nil {
		return o.Portable.managed(o), nil
	}
	files := []string{o.Managed}
	dir := filepath.Join(filepath.Dir(o.Managed), "settings.d")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(layernames.Managed, dir, err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	var list []source
	for _, file := range slices.Backward(files) {
		src, err := o.read(layernames.Managed, file, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		list = append(list, src...)
	}
	return list, nil
}

// project reads the settings of the project's folder: local, then project. If the folder's
// .holdfast is HOLDFAST_HOME itself, these are the user's settings.
func (o *Options) project() ([]source, error) {
	folder := filepath.Join(o.Project, projectDir)
	if home, err := canonical(o.Home); err == nil && home == folder {
		return nil, nil
	}
	var list []source
	for _, f := range []struct {
		layer string
		name  string
	}{{layernames.Local, localFile}, {layernames.Project, projectFile}} {
		src, err := o.read(f.layer, filepath.Join(folder, f.name), o.Project)
		if err != nil {
			return nil, err
		}
		list = append(list, src...)
	}
	return list, nil
}

// user reads the user's settings.
func (o *Options) user() ([]source, error) {
	if o.Portable != nil {
		return o.Portable.user(o), nil
	}
	if o.Home == "" {
		return nil, nil
	}
	return o.read(layernames.User, filepath.Join(o.Home, projectFile), o.Home)
}

// flags reads the values of --settings: files, or JSON that begins with "{". The last is the
// strongest.
func (o *Options) flags() ([]source, error) {
	var list []source
	for i, value := range slices.Backward(o.Files) {
		if text := strings.TrimSpace(value); strings.HasPrefix(text, "{") {
			name := "--settings"
			if len(o.Files) > 1 {
				name = fmt.Sprintf("--settings %d", i+1)
			}
			list = append(list, source{layer: layernames.Flag, file: name, dir: o.Cwd, user: o.User, data: []byte(value)})
			continue
		}
		file := value
		if !filepath.IsAbs(file) {
			file = filepath.Join(o.Cwd, file)
		}
		src, err := o.read(layernames.Flag, file, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if len(src) == 0 {
			return nil, unreadable(layernames.Flag, file, syscall.ENOENT)
		}
		list = append(list, src...)
	}
	return list, nil
}

// read returns a file as a source, or nothing if the file does not exist. If reading fails for any
// other reason, that is an error.
func (o *Options) read(layer string, file, dir string) ([]source, error) {
	there, err := exists(file)
	if err != nil {
		return nil, unreadable(layer, file, err)
	}
	if !there {
		return nil, nil
	}
	data, err := readFile(layer, file)
	if err != nil {
		return nil, err
	}
	return []source{{layer: layer, file: file, dir: dir, user: o.User, data: data}}, nil
}

// readFile reads a settings file of at most maxFile bytes. Only a flag may name something other
// than a regular file: the shell's <(…) is a pipe.
func readFile(layer string, file string) ([]byte, error) {
	mode := os.O_RDONLY
	if layer != layernames.Flag {
		mode |= syscall.O_NONBLOCK // a FIFO must not block
	}
	f, err := os.OpenFile(file, mode, 0)
	if err != nil {
		return nil, unreadable(layer, file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, unreadable(layer, file, err)
	case info.IsDir():
		return nil, unreadable(layer, file, errors.New("it is a folder"))
	case layer != layernames.Flag && !info.Mode().IsRegular():
		return nil, unreadable(layer, file, errors.New("it is not a regular file"))
	case (layer == layernames.User || layer == layernames.Managed) && info.Mode().Perm()&0o002 != 0:
		return nil, &Error{Problems: []Problem{{
			Layer: layer, File: file, Detail: "the settings file is world-writable", Hint: "chmod o-w " + quote(file), Fatal: true,
		}}}
	}
	if layer == layernames.User || layer == layernames.Managed {
		if err := checkFolderMode(layer, filepath.Dir(file)); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unreadable(layer, file, err)
	}
	if len(data) > maxFile {
		return nil, unreadable(layer, file, fmt.Errorf("it is larger than %d KiB", maxFile>>10))
	}
	return data, nil
}

// checkFolderMode rejects a world-writable folder, in which anyone could replace the settings.
func checkFolderMode(layer string, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return unreadable(layer, dir, err)
	case info.Mode().Perm()&0o002 != 0:
		return &Error{Problems: []Problem{{
			Layer: layer, File: dir, Detail: "the settings folder is world-writable", Hint: "chmod o-w " + quote(dir), Fatal: true,
		}}}
	}
	return nil
}

func unreadable(layer string, file string, err error) error {
	why := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		why = e.Err
	}
	hint := "unreadable settings are not ignored; fix the file or move it away"
	switch {
	case layer == layernames.Flag && errors.Is(err, fs.ErrNotExist):
		hint = "use an existing file, or JSON"
	case errors.Is(err, fs.ErrPermission):
		hint = "make it readable: chmod u+r " + quote(file)
	}
	return &Error{Err: err, Problems: []Problem{{
		Layer: layer, File: file, Detail: "cannot be read: " + why.Error(), Hint: hint, Fatal: true,
	}}}
}

// quote quotes a path for a shell.
func quote(s string) string {
	if strings.ContainsAny(s, " \t\n'\"\\$`&|;<>()*?[]{}~#!") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
