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

// Policy describes what a command may do. Paths are absolute and contain no symbolic links or dots.
// Each path means the whole tree below it. If a path is in no list, it can be neither read nor
// written.
type Policy struct {
	Read     []string // readable and executable; "/" includes everything except devices, /run and most of /sys, which need their own entries
	List     []string // folders whose entries can be listed, but not read
	Write    []string // readable, executable and writable
	Hide     []string // existing files and folders that appear empty and inaccessible; overrides Read and Write
	ReadOnly []string // existing paths inside Write: readable, but cannot be written, moved or removed
	Pin      []string // existing paths inside Write: their content can be written, but they cannot be moved or removed
	Forbid   []Name   // missing paths inside Write that must not be created

	// Quarantine is the folder to which a file with a name of Forbid is moved at once; [State]
	// reports it. If it is "", a placeholder occupies each of these names while commands run.
	Quarantine quarantine.Folder

	Temp        string       // the folder that appears as /tmp and /var/tmp; "" means a new one in memory
	TempSize    int64        // size in bytes of the folder in memory; 0 means the kernel's default
	Caches      string       // a writable folder that appears as [CachesDir]; "" means none
	CacheMounts []CacheMount // folders of the host that are replaced by folders of Caches

	Network   Network
	LocalBind bool // commands may listen on a private localhost of the jail and connect to it; not available without namespaces
	Single    bool // true if only one command will run
	Unix      Unix

	Nested bool // may create namespaces
	Weaker bool // true if Landlock and seccomp alone are sufficient when the kernel refuses namespaces

	Limits   cgroup.Limits
	FileSize int64 // maximum size of a file in bytes; 0 means no limit
	Notify   bool  // true to record refused system calls and call [Attr].OnWrite

	// Open disables all confinement and ignores all other fields. Only a pid namespace remains, which ends
	// all processes of the command together with it.
	Open bool
}

// CachesDir is the path of [Policy].Caches inside the sandbox.
const CachesDir = "/dev/shm/caches"

// CacheMount replaces a folder of the host by a folder of [Policy].Caches, which commands may write.
type CacheMount struct {
	Path   string // the path on the host, which must be outside of Write and Hide
	Folder string // the name in Caches, without a slash: commands may create symbolic links there
}

// Name is a name that must not be created.
type Name struct {
	Path string
	Dot  bool // the placeholder is a file that contains ".", for git's commondir, which must be readable
}

// Network is the kind of network that commands have.
type Network int

// The networks.
const (
	NoNetwork    Network = iota // an empty network, which the jail's commands may share
	NoSockets                   // no sockets except socket pairs; the host's network is visible but not usable
	ProxyNetwork                // a network with a listener for each command, on which this process accepts connections; the jail's commands may share it
)

// ProxyAddr is the address of the listener of [ProxyNetwork] inside the sandbox, unless [Attr].Proxy is set.
const ProxyAddr = "127.0.0.1:3128"

// Unix selects the unix sockets that commands may use.
type Unix int

// The unix sockets.
const (
	UnixNone    Unix = iota // socket pairs only
	UnixOwnOnly             // sockets among the command's own files
	UnixAll
)

// Attr describes the command to start.
type Attr struct {
	Path  string // absolute
	Args  []string
	Env   []string
	Dir   string     // working folder of the command: absolute, and readable under the policy
	Files []*os.File // descriptors 0, 1, …; nil: closed

	// Terminal keeps the command in the caller's session, so that the terminal works. Otherwise the command
	// gets its own session and process group.
	Terminal bool
	// PrivateLocalhost gives the command a localhost that it shares with no other command.
	PrivateLocalhost bool
	// Proxy is the address in 127.0.0.0/8 on which the listener of [ProxyNetwork] listens; the port
	// is that of ProxyAddr. Commands that share a localhost need different addresses. The zero
	// address means the address in ProxyAddr.
	Proxy netip.Addr
	// OnWrite is called with the absolute path of each file that the command is about to open for
	// writing, and of each folder that it is about to create. The calls come from one goroutine;
	// the command waits until the call returns.
	OnWrite func(path string)
	// Serve receives the listener of [ProxyNetwork]. It runs on its own goroutine until the command has
	// ended.
	Serve func(net.Listener)
}

// State describes how a command ended.
type State struct {
	Status  syscall.WaitStatus
	Usage   syscall.Rusage
	Elapsed time.Duration
	Refused []seccomp.Refusal // with Policy.Notify
	OOM     bool              // the command was killed because it used too much memory
	// Quarantined are the forbidden names that were created while the command ran and are now in quarantine.
	Quarantined []quarantine.Item
	// Appeared are the forbidden names that were created while the command ran and still exist: another
	// program removed the placeholder or created the file, or the file could not be moved.
	Appeared []string
}

// StartError reports that a command could not be started, and at which step.
type StartError struct {
	Step string // "mount /proc", "execute /bin/x"
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// ErrUnsupported means that this system or kernel cannot enforce the policy.
var ErrUnsupported = errors.New("not supported on this system")

// Mechanism is one kernel feature that confines commands.
type Mechanism struct {
	Name        string `json:"name"` // "user namespace", "landlock", …
	Available   bool   `json:"there"`
	Detail      string `json:"detail,omitempty"`  // a detail such as "ABI 7", or why the mechanism is not available
	Consequence string `json:"follows,omitempty"` // what its absence means
}
