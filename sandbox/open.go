package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/policy"
)

// errClosed reports a closed sandbox.
var errClosed = errors.New("sandbox is closed")

// OpenOptions adjusts [Open].
type OpenOptions struct {
	// Folders are the workspace: the writable folders if no settings contain allowedWritePaths.
	// Commands start in the first one. Default: the current folder.
	Folders []string
	Home    string   // the user's home folder; default: that of this process
	State   []string // Holdfast's own folders, such as $HOLDFAST_HOME: never visible to commands

	// Temp is a folder that commands see as /tmp, so that a command finds the files that an earlier
	// one left there. Default: each command has a new one in memory.
	Temp string

	// Caches is a folder for the caches of compilers and package managers. Commands may write to it
	// under another path, and [Sandbox.Environ] has the variables by which tools find it. "": no
	// caches. Without namespaces there are no caches either.
	Caches string

	// Quarantine is the folder to which files with a protected name are moved as soon as a command
	// creates them: $HOLDFAST_HOME/quarantine. It need not exist. If it is "", or any layer sets
	// strictProtectedPaths, placeholders block such names in the user's folders while commands run.
	Quarantine string

	// SingleCommand is true if only one command will run. Open then does not test for namespaces
	// first, and if the kernel refuses them, the command fails to start.
	SingleCommand bool

	// NamespacesFile is a file in a folder of State. It records, until the next reboot, that the
	// kernel allows namespaces. "": test each time.
	NamespacesFile string

	// InContainer is true if this process runs in a container, which also confines commands. If the
	// container forbids namespaces, Landlock and seccomp are then sufficient, as with
	// enableWeakerNestedSandbox. A layer that explicitly sets that to false still prevents it.
	InContainer bool

	// NoConfinement opens a sandbox that refuses nothing: commands see, write and reach everything
	// that this process does. It guarantees only that all processes that a command starts end with
	// the command, even if they detach themselves. There are then no checkers, and all other
	// options are ignored.
	//
	// It needs a pid namespace: the command sees its own process ids, but the /proc of the host.
	// For an ordinary user it also needs a user namespace, in which sudo does not work. If the
	// kernel provides none, the error wraps [kernelFields.ErrUnsupported].
	NoConfinement bool

	// Ask decides about a host that no list names, unless settings turn asking off, and about the
	// private address of the host if that is known ("" otherwise). One approval covers the name at
	// exactly that address. Nil: refuse.
	Ask func(ctx context.Context, host string, port int, address string) (bool, error)
	// Log receives refusals. Nil: nothing is logged.
	Log *slog.Logger
}

// position formats where a setting was written: file:line:column, as far as known.
func position(o policy.Origin) string {
	switch {
	case o.File == "" || o.Line == 0:
		return o.File
	case o.Col == 0:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Col)
}

// Open prepares a sandbox that enforces the settings of all checkers. It refuses everything that
// any of them refuses. The strongest layer comes first. Settings that cannot be enforced on this
// machine are an *[Error]. The caller closes the sandbox.
//
// A setting that loosens (the flags of [Settings], excludedCommands, additionalWritePaths) is in force
// if a trusted layer sets it, no layer sets it to false, and every managed layer sets it. Each network
// block restricts on its own: a flag in it is in force if every network block sets it, and there is a
// network only if a trusted layer has a block. A limit is the smallest that any layer sets.
//
// Independent of the settings, commands cannot see secrets of the home folder and the system that no
// setting names, or the State folders, and cannot change files that decide what other programs do:
// git's hooks and configuration, start-up files, settings of agents and editors. They cannot create
// such files either.
func Open(list []*Checker, o *OpenOptions) (*Sandbox, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	if o.NoConfinement {
		return openUnconfined()
	}
	if !hasKernelSandbox {
		return nil, &Error{Detail: "commands cannot be confined", Err: kernel.ErrUnsupported, hint: "the kernel sandbox needs Linux on amd64 or arm64"}
	}
	tried := make(chan error, 1)
	if !o.SingleCommand { // this call takes as long as all other calls here together
		go func() { tried <- checkNamespaces(o.NamespacesFile) }()
	}
	c, err := newCompiler(list, o)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{compiler: c, ask: o.Ask, log: o.Log, running: map[*kernel.Process]*kernel.Jail{}, uses: map[*kernel.Jail]int{}}
	err = s.renew()
	if !o.SingleCommand && !c.merged.Weaker.Set {
		if refused := <-tried; refused != nil {
			if err == nil {
				_ = s.Close()
			}
			return nil, &Error{Detail: "the kernel refuses namespaces", Err: refused, hint: "run holdfast doctor to see why; enableWeakerNestedSandbox accepts a sandbox without namespaces"}
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// checkNamespaces reports whether the kernel allows namespaces.
func checkNamespaces(file string) error {
	if file == "" {
		return kernel.Namespaces()
	}
	return kernel.NamespacesOnce(file)
}

func newCompiler(list []*Checker, o *OpenOptions) (*compiler, error) {
	c := &compiler{merged: mergeCheckers(list, o.Ask != nil), searchPath: os.Getenv("PATH")}
	c.checkers, c.single = c.merged.layers, o.SingleCommand
	if o.InContainer && !slices.ContainsFunc(c.checkers, func(c *Checker) bool {
		v := c.settings.EnableWeakerNestedSandbox
		return v != nil && !*v
	}) {
		c.merged.Weaker.Set = true
	}
	if o.Quarantine != "" && !slices.ContainsFunc(c.checkers, func(c *Checker) bool { return isTrue(c.settings.StrictProtectedPaths) }) {
		a, err := folderTree(o.Quarantine, "")
		if err != nil {
			return nil, err
		}
		c.quarantine = quarantine.Folder(a.path)
	}
	if c.home = o.Home; c.home == "" {
		c.home, _ = os.UserHomeDir() // without a home folder, nothing in it is protected
	}
	if home, err := realpath.Resolve(c.home); err == nil && c.home != "" && home != "/" {
		c.home = home
	} else {
		c.home = ""
	}
	folders := o.Folders
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, f := range folders {
		a, err := workspaceTree(f)
		if err != nil {
			return nil, err
		}
		c.folders = append(c.folders, a)
	}
	for _, s := range o.State {
		a, err := folderTree(s, "Holdfast's own state is not accessible")
		if err != nil {
			return nil, err
		}
		c.state = append(c.state, a)
	}
	if o.Temp != "" {
		a, err := folderTree(o.Temp, "")
		if err != nil {
			return nil, err
		}
		if c.temp = a.path; !isDir(c.temp) {
			return nil, &Error{Detail: "the folder for /tmp, " + c.temp + ", does not exist"}
		}
	}
	if o.Caches != "" {
		a, err := folderTree(o.Caches, "")
		if err != nil {
			return nil, err
		}
		if c.caches = a.path; !isDir(c.caches) {
			return nil, &Error{Detail: "the folder for caches, " + c.caches + ", does not exist"}
		}
	}
	return c, nil
}

// workspaceTree checks one folder of the workspace.
func workspaceTree(folder string) (pathTree, error) {
	refuse := func(why, hint string) (pathTree, error) {
		return pathTree{}, &Error{Detail: fmt.Sprintf("the workspace %q %s", folder, why), hint: hint}
	}
	if strings.ContainsFunc(folder, func(r rune) bool { return r < ' ' || r == 0x7f || r == ':' }) {
		return refuse("has a control character or a colon in its name", "rename it: programs split such names")
	}
	a, err := folderTree(folder, "")
	if err != nil {
		return pathTree{}, err
	}
	if info, err := os.Stat(a.path); err != nil || !info.IsDir() {
		return refuse("does not exist or is not a folder", "create it, or work in another folder")
	}
	if strings.ContainsRune(a.path, ':') {
		return refuse("leads to "+a.path+", which has a colon in its name", "rename it: programs split such names")
	}
	a.text = "the workspace"
	return a, nil
}

// folderTree returns a tree for a folder that no setting names.
func folderTree(folder, reason string) (pathTree, error) {
	full, err := filepath.Abs(folder)
	if err == nil && folder == "" {
		err = errors.New("it is empty")
	}
	var resolved string
	if err == nil {
		resolved, err = realpath.Normalize(full, "", "")
	}
	if err != nil {
		return pathTree{}, &Error{Detail: fmt.Sprintf("the folder %q cannot be used", folder), Err: err}
	}
	return pathTree{path: resolved, literal: filepath.Clean(full), folder: true, planReason: planReason{text: reason}}, nil
}

// Notices returns warnings for the user about how the settings are enforced, such as a secret with a
// second hard link or a program with other names.
func (s *Sandbox) Notices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.plan.notices)
}

// Kinds of violations.
const (
	kindPath    = "path"
	kindHost    = "host"
	kindSyscall = "syscall"
	kindLimit   = "limit"
)
