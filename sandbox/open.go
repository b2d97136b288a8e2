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

// errClosed says that the sandbox was closed.
var errClosed = errors.New("sandbox is closed")

// OpenOptions adjust [Open].
type OpenOptions struct {
	// Folders are the workspace: what may be written when no settings name
	// allowedWritePaths. The first is where commands start. Default: the current folder.
	Folders []string
	Home    string   // the person's home folder; default the user's
	State   []string // folders of ours, such as $HOLDFAST_HOME: never visible inside

	// Temp is a folder that commands see as /tmp, so that what one leaves there the
	// next one finds. Default: each command has a fresh one in memory.
	Temp string

	// Caches is a folder for the caches of compilers and package managers: commands may write
	// it, at another place, and [Sandbox.Environ] has the variables by which tools find it.
	// "" is none. Where the kernel refuses namespaces there is none, either.
	Caches string

	// Quarantine is the folder to which what commands make under a protected name is moved at
	// once: $HOLDFAST_HOME/quarantine. It need not exist. "", and strictProtectedPaths of any
	// layer, have such names taken by placeholders in the user's folders while commands run.
	Quarantine string

	// SingleCommand says that one command will run: that the kernel refuses namespaces is found
	// when it starts, and not by a try before.
	SingleCommand bool

	// NamespacesFile is where it is remembered, until the machine starts again, that the kernel
	// gives us namespaces: a file in a folder of State. "": that is tried each time.
	NamespacesFile string

	// InContainer says that all of us run in a container, which is the outer wall: where it
	// forbids namespaces Landlock and seccomp are enough, as with
	// enableWeakerNestedSandbox. A layer that says no to that in so many words counts.
	InContainer bool

	// NoConfinement opens what runs commands like a sandbox, and refuses them nothing: they see,
	// write and reach what this process does. Only what they start does not outlive them,
	// however it detaches itself. There are no checkers then, and no other option counts.
	//
	// It needs a pid namespace: process numbers inside are the command's own, while
	// /proc is the host's. For an ordinary user it needs a user namespace as well, in
	// which sudo does not work. Where the kernel has none for us the error wraps
	// [kernel.ErrUnsupported].
	NoConfinement bool

	// Ask decides about a host that no list names, unless settings say that nobody is asked, and about
	// the private address that the host has, where that is known ("" otherwise). One yes is about the name at
	// exactly that address. Nil: refused.
	Ask func(ctx context.Context, host string, port int, address string) (bool, error)
	// Log gets what is refused. Nil: nothing is logged.
	Log *slog.Logger
}

// position writes where a setting stands: file:line:column, as far as known.
func position(o policy.Origin) string {
	switch {
	case o.File == "" || o.Line == 0:
		return o.File
	case o.Col == 0:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Col)
}

// Open prepares a sandbox in which all of the checkers' settings hold: what one of
// them refuses is refused. The strongest layer comes first. What cannot be held
// here is an *[Error]. The caller closes it.
//
// What loosens (the flags of [Settings], excludedCommands, additionalWritePaths)
// holds when a trusted layer sets it, no layer says false, and no managed layer is
// silent about it. Of network each block restricts by itself: a flag there holds
// when every network block sets it, and there is a network only when a trusted
// layer has a block. A limit is the smallest that any layer sets.
//
// Whatever the settings say, commands see neither secrets of the home folder and
// the system that no setting names, nor State, and cannot change what decides about
// other programs: git's hooks and configuration, start-up files, settings of agents
// and editors, also such as are not there yet.
func Open(list []*Checker, o *OpenOptions) (*Sandbox, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	if o.NoConfinement {
		return openUnconfined()
	}
	if !hasKernelSandbox {
		return nil, &Error{Detail: "commands cannot be held", Err: kernel.ErrUnsupported, hint: "the kernel sandbox needs Linux on amd64 or arm64"}
	}
	tried := make(chan error, 1)
	if !o.SingleCommand { // the kernel takes as long for it as the rest here takes
		go func() { tried <- namespaces(o.NamespacesFile) }()
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
			return nil, &Error{Detail: "the kernel refuses namespaces of our own", Err: refused, hint: "holdfast doctor says why; enableWeakerNestedSandbox accepts a sandbox without them"}
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// namespaces says whether the kernel gives us namespaces.
func namespaces(file string) error {
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
		a, err := own(o.Quarantine, "")
		if err != nil {
			return nil, err
		}
		c.quarantine = quarantine.Folder(a.path)
	}
	if c.home = o.Home; c.home == "" {
		c.home, _ = os.UserHomeDir() // without one, nothing of it is protected
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
		a, err := workspace(f)
		if err != nil {
			return nil, err
		}
		c.folders = append(c.folders, a)
	}
	for _, s := range o.State {
		a, err := own(s, "this program's state is its own")
		if err != nil {
			return nil, err
		}
		c.state = append(c.state, a)
	}
	if o.Temp != "" {
		a, err := own(o.Temp, "")
		if err != nil {
			return nil, err
		}
		if c.temp = a.path; !isDir(c.temp) {
			return nil, &Error{Detail: "the folder for /tmp, " + c.temp + ", is not there"}
		}
	}
	if o.Caches != "" {
		a, err := own(o.Caches, "")
		if err != nil {
			return nil, err
		}
		if c.caches = a.path; !isDir(c.caches) {
			return nil, &Error{Detail: "the folder for caches, " + c.caches + ", is not there"}
		}
	}
	return c, nil
}

// workspace looks at one folder of the workspace.
func workspace(folder string) (pathTree, error) {
	refuse := func(why, hint string) (pathTree, error) {
		return pathTree{}, &Error{Detail: fmt.Sprintf("the workspace %q %s", folder, why), hint: hint}
	}
	if strings.ContainsFunc(folder, func(r rune) bool { return r < ' ' || r == 0x7f || r == ':' }) {
		return refuse("has a control character or a colon in its name", "rename it: programs take such names apart")
	}
	a, err := own(folder, "")
	if err != nil {
		return pathTree{}, err
	}
	if info, err := os.Stat(a.path); err != nil || !info.IsDir() {
		return refuse("is not a folder that is there", "make it, or work elsewhere")
	}
	if strings.ContainsRune(a.path, ':') {
		return refuse("leads to "+a.path+", which has a colon in its name", "rename it: programs take such names apart")
	}
	a.text = "the workspace"
	return a, nil
}

// own makes an area of a folder that no setting names.
func own(folder, what string) (pathTree, error) {
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
	return pathTree{path: resolved, literal: filepath.Clean(full), folder: true, planReason: planReason{text: what}}, nil
}

// Notices tell what a person should know about how the settings are held: a secret
// with a second name, a program that has others.
func (s *Sandbox) Notices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.plan.notices)
}

// The kinds of violations.
const (
	kindPath    = "path"
	kindHost    = "host"
	kindSyscall = "syscall"
	kindLimit   = "limit"
)
