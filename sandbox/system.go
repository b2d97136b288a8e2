package sandbox

import (
	_ "embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/protectedpaths"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

//go:embed system.txt
var systemText string

// systemLists is system.txt: section → paths.
var systemLists = sync.OnceValue(func() map[string][]string {
	lists := map[string][]string{}
	section := ""
	for line := range strings.Lines(systemText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section, _, _ = strings.Cut(line[1:], "]")
		default:
			lists[section] = append(lists[section], line)
		}
	}
	return lists
})

// existing returns the canonical paths of a list that exist.
func existing(list []string) []string {
	var out []string
	for _, p := range list {
		if full, err := realpath.Resolve(p); err == nil {
			if _, err := os.Lstat(full); err == nil {
				out = append(out, full)
			}
		}
	}
	return out
}

// secretPaths returns the files and folders of the system and of the home folder that contain secrets,
// whether they exist or not, and the home folders of other users.
func secretPaths(home string) []string {
	lists := systemLists()
	out := make([]string, 0, 160)
	for _, p := range lists["secret"] {
		switch {
		case path.IsAbs(p):
			out = append(out, p)
		case home != "":
			out = append(out, path.Join(home, p))
		}
	}
	for _, p := range lists["pattern"] {
		found, _ := filepath.Glob(p) // the patterns are built in
		out = append(out, found...)
	}
	if home == "" {
		return out
	}
	for _, name := range homeSecrets() {
		out = append(out, path.Join(home, name))
	}
	for _, p := range lists["home"] {
		found, _ := filepath.Glob(p)
		for _, other := range found {
			if !within(home, other) && !within(other, home) {
				out = append(out, other)
			}
		}
	}
	return out
}

// homeSecrets returns the names of policy's list that mean a secret in a home folder: those that start
// with a dot. The others, and .env, are names in projects.
var homeSecrets = sync.OnceValue(func() []string {
	names := protectedpaths.Secrets()
	return slices.DeleteFunc(append(names.Folders, names.Files...), func(name string) bool {
		return name[0] != '.' || strings.ContainsAny(name, "*?[{") || strings.HasPrefix(name, ".env")
	})
})

// whyNotWorkspace returns why a folder cannot be a workspace by itself, or "".
func whyNotWorkspace(folder, home string) string {
	lists := systemLists()
	switch {
	case home != "" && folder == home:
		return ""
	case slices.Contains(lists["workspace"], folder):
		return "it is a system folder"
	case home != "" && within(home, folder):
		return "it contains the home folder"
	}
	for _, p := range lists["system"] {
		if within(folder, p) {
			return "it belongs to the system"
		}
	}
	return ""
}

// privateFolders are the folders that are private to commands: they see their own folders there, not those
// of the host.
var privateFolders = []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/pts"}

// specialFolders are the folders that reading "/" does not include.
var specialFolders = []string{"/tmp", "/var/tmp", "/dev", "/proc", "/run", "/sys"}

// hiddenProgram is a file that deniedCommands hides.
type hiddenProgram struct {
	name string // as in deniedCommands
	path string
}

// findPrograms finds programs by name in the folders of searchPath and of the system. The result
// shared lists names that are symbolic links to a program with another name. Hiding that program
// would deny more than the setting names.
func findPrograms(names []string, searchPath string) (found []hiddenProgram, shared []string) {
	dirs := filepath.SplitList(searchPath)
	dirs = append(dirs, "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
	seen := map[string]bool{}
	for _, dir := range dirs {
		if !path.IsAbs(dir) {
			continue
		}
		for _, name := range names {
			full, err := realpath.Resolve(path.Join(dir, name))
			if err != nil || seen[full+"\x00"+name] {
				continue
			}
			seen[full+"\x00"+name] = true
			info, err := os.Lstat(full)
			switch {
			case err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
			case path.Base(full) != name:
				shared = append(shared, name+" is "+full+", which also has other names")
			default:
				found = append(found, hiddenProgram{name, full})
			}
		}
	}
	return found, shared
}

// readable reports whether this process may read a file or list a folder: commands have no more
// rights.
func readable(name string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() && !info.IsDir() {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
