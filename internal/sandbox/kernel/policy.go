package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/cgroup"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/sandbox/seccomp"
)

// Policy is what a command is held to. Paths are absolute, without links and dots;
// one means the tree below it. What is in no list can be neither read nor written.
type Policy struct {
	Read     []string // may be read and executed; "/" is everything but devices, /run and most of /sys, which need entries of their own
	List     []string // folders of which the names below may be listed, and no more
	Write    []string // may be read, executed and written
	Hide     []string // files and folders, there when the command starts, that are empty and closed; beats Read and Write
	ReadOnly []string // inside Write, there when the command starts: may be read, but not written, moved or removed
	Pin      []string // inside Write, there when the command starts: may be written below, but not moved or removed
	Forbid   []Name   // inside Write, not there: must not be made

	// Quarantine is where what takes the name of a Bar is moved at once, and told in
	// [State]. "": each of these names is taken by a placeholder while commands run.
	Quarantine quarantine.Folder

	Temp        string       // this folder is /tmp and /var/tmp; "": a fresh one in memory
	TempSize    int64        // bytes of a fresh one; 0: as the kernel has it
	Caches      string       // this folder may be written, and is seen as [CachesDir]; "": there is none
	CacheMounts []CacheMount // where commands see a folder of Caches in the place of one that is there

	Network   Network
	LocalBind bool // may listen on a localhost of the jail's own and connect to it; without namespaces there is none
	Single    bool // only one command will run
	Unix      Unix

	Nested bool // may make namespaces of its own
	Weaker bool // where namespaces are refused, Landlock and seccomp alone will do

	Limits   cgroup.Limits
	FileSize int64 // bytes that a file may grow to; 0: any
	Notify   bool  // learn which system calls were refused, and of a command with [Attr].Wrote what it tries to write

	// Open holds commands to nothing at all, whatever else is said: there is a pid
	// namespace, so that what a command starts does not outlive it, and no more.
	Open bool
}

// CachesDir is where [Policy].Caches is seen inside.
const CachesDir = "/dev/shm/caches"

// CacheMount says that commands see, and may write, a folder of [Policy].Caches in the place of the host's.
type CacheMount struct {
	Path   string // the host's, outside of Write and Hide
	Folder string // its name in Caches: one that has no slash, since commands may put links there
}

// Name is a name that must not come to be.
type Name struct {
	Path string
	Dot  bool // what takes the name is a file that says ".", for git's commondir, which has to be readable
}

// Network is how much of the network there is.
type Network int

// The networks.
const (
	NoNetwork    Network = iota // one with nothing in it, which a jail's commands may share
	NoSockets                   // no sockets but pairs; the host's is there to be looked at
	ProxyNetwork                // one with a listener in it for each command, which we accept on; a jail's commands may share it
)

// ProxyAddr is where the listener of [ProxyNetwork] is inside, unless [Attr].Proxy says otherwise.
const ProxyAddr = "127.0.0.1:3128"

// Unix says which unix sockets may be used.
type Unix int

// The unix sockets.
const (
	UnixNone    Unix = iota // pairs only
	UnixOwnOnly             // those of the command's own files
	UnixAll
)

// Attr says what to start.
type Attr struct {
	Path  string // absolute
	Args  []string
	Env   []string
	Dir   string     // absolute, readable by the policy
	Files []*os.File // descriptors 0, 1, …; nil: that one is closed

	// Terminal: stay in the caller's session, so that the terminal works. Otherwise
	// the command has a session and a process group of its own.
	Terminal bool
	// PrivateLocalhost: the command shares its localhost with no other command.
	PrivateLocalhost bool
	// Proxy is the address in 127.0.0.0/8 where the listener of [ProxyNetwork] is, at ProxyAddr's port. It
	// is the command's own where commands share their localhost. The zero address is that of ProxyAddr.
	Proxy netip.Addr
	// OnWrite is called with the absolute path of each file that the command is about to open for writing
	// and each folder that it is about to make, on one goroutine; the command waits meanwhile.
	OnWrite func(path string)
	// Serve gets the listener of [ProxyNetwork], on a goroutine of its own, until
	// the command is done.
	Serve func(net.Listener)
}

// State is how a command ended.
type State struct {
	Status  syscall.WaitStatus
	Usage   syscall.Rusage
	Elapsed time.Duration
	Refused []seccomp.Refusal // with Policy.Notify
	OOM     bool              // it was killed for its memory
	// Quarantined are barred names that came to be while it ran, and are in quarantine now.
	Quarantined []quarantine.Item
	// Appeared are barred names that came to be while it ran and still are: somebody outside
	// has removed what barred them, or has made them, or they could not be moved.
	Appeared []string
}

// StartError says that a command could not be started, and at what.
type StartError struct {
	Step string // "mount /proc", "execute /bin/x"
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// ErrUnsupported says that this system or kernel cannot do what the policy asks for.
var ErrUnsupported = errors.New("not supported on this system")

// Mechanism is one way in which this kernel can hold a command.
type Mechanism struct {
	Name        string `json:"name"` // "user namespace", "landlock", …
	Available   bool   `json:"there"`
	Detail      string `json:"detail,omitempty"`  // "ABI 7"; or why it is absent
	Consequence string `json:"follows,omitempty"` // what its absence means
}
