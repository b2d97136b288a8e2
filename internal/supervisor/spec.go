package supervisor

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Protocol is the version of the frames. Both sides must have the same version.
const Protocol = 1

// The paths in a container.
const (
	Folder     = "/run/holdfast"           // the folder mounted from the host
	SocketName = "supervisor.sock"         // the file name in that folder of the socket that Dial connects to
	EgressName = "egress.sock"             // the file name in that folder of the host's proxy socket, if there is one
	Proxy      = "127.0.0.1:3128"          // address on which the supervisor listens for programs that use the proxy, even if the proxy does not exist
	Socket     = Folder + "/" + SocketName // path in the container
	Egress     = Folder + "/" + EgressName // path in the container
)

// Grace is the default time of a process between SIGTERM and SIGKILL.
const Grace = 5 * time.Second

// TailSize is the number of bytes kept of standard error.
const TailSize = 8 << 10

// Spec says what to start.
type Spec struct {
	// ID names the process among those in the container: 1 to 128 letters, digits, dots, dashes and
	// underscores, not starting with a dot. If a process with the same id runs already, the error
	// is [ErrRunning].
	ID string
	// Args is the command line. Args[0] is looked up in the image's PATH, or is a path. Other processes in the
	// container can read it: secrets belong in Env.
	Args []string
	// Env are additional variables, "NAME=value"; see [CheckEnv]. The last value of a name is used.
	Env []string
	// Dir is the working folder, absolute.
	Dir string
	// Channel gives the process an additional two-way stream: its descriptor 3.
	Channel bool
	// Terminal makes the standard streams one terminal: all output, including standard error, arrives in Stdout.
	// Nil: they are pipes.
	Terminal *Size
	// Grace is the time from SIGTERM to SIGKILL; 0 is [Grace], a negative value kills at once.
	Grace time.Duration
	// Stderr receives a copy of the process's standard error, in order, from one goroutine; nil keeps only the
	// last [TailSize] bytes. A blocked writer blocks only the process's standard error.
	Stderr io.Writer
}

// Size is the size of a terminal in characters.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Exit describes how a process, and everything that it started, ended.
type Exit struct {
	Code   int    // 128 plus the signal's number if a signal ended it
	Signal string // name such as "SIGKILL"; "" if the process exited by itself
	// OOM is true if the kernel killed the process, or a child that it ran, because the container
	// was out of memory. This comes from the container's counter, never from the signal or the code
	// alone.
	OOM    bool
	Stderr string // the last [TailSize] bytes of standard error
}

// Running is a process that runs in the container.
type Running struct {
	ID      string    `json:"id"`
	Program string    `json:"program"` // the program, which is Args[0]; if it is long, only its end
	Pid     int       `json:"pid"`     // process id in the container
	Started time.Time `json:"started"`
}

// Health is a supervisor's report about itself.
type Health struct {
	Version  string `json:"version"`  // version of holdfast
	Protocol int    `json:"protocol"` // see [Protocol]
	Pid      int    `json:"pid"`      // process id in the container
	UID      int    `json:"uid"`
	// Confined is true if Landlock keeps sessions apart from each other and from the supervisor:
	// from their files, memory and environments. SignalsConfined is true if sessions cannot send
	// each other signals either. Unconfined is the reason if Confined or SignalsConfined is false.
	Confined        bool   `json:"confined"`
	SignalsConfined bool   `json:"signals_confined"`
	Unconfined      string `json:"unconfined,omitempty"`
	Processes       int    `json:"processes"`
	// OOMKills is how often the kernel has killed a process of the container for lack of memory; -1 if unknown.
	OOMKills int64 `json:"oom_kills"`
	// Proxy is true if the connection to the host's proxy exists.
	Proxy bool `json:"proxy"`
}

// order checks the spec and returns its protocol form.
func (s *Spec) order() (*order, error) {
	o := &order{
		ID: s.ID, Args: s.Args, Env: s.Env, Dir: s.Dir, Channel: s.Channel, Terminal: s.Terminal,
		GraceMS: s.grace().Milliseconds(),
	}
	return o, o.check()
}

func (s *Spec) grace() time.Duration {
	if s.Grace == 0 {
		return Grace
	}
	return max(0, s.Grace)
}

// check checks that an order could be started. Both sides call it.
func (o *order) check() error {
	switch {
	case !validID(o.ID):
		return fmt.Errorf("%w: the id %s is not 1 to 128 letters, digits, dots, dashes and underscores, or starts with a dot",
			ErrSpec, strconv.QuoteToASCII(o.ID))
	case len(o.Args) == 0 || o.Args[0] == "":
		return fmt.Errorf("%w: no program", ErrSpec)
	case !strings.HasPrefix(o.Dir, "/"):
		return fmt.Errorf("%w: the folder %q is not absolute", ErrSpec, o.Dir)
	case strings.IndexByte(o.Dir, 0) >= 0 || slices.ContainsFunc(o.Args, func(a string) bool { return strings.IndexByte(a, 0) >= 0 }):
		return fmt.Errorf("%w: a NUL byte in the arguments or the folder", ErrSpec)
	case o.GraceMS < 0 || o.GraceMS > maxGrace.Milliseconds():
		return fmt.Errorf("%w: the grace time is more than %v", ErrSpec, maxGrace)
	}
	size := len(o.Dir)
	for _, s := range slices.Concat(o.Args, o.Env) {
		if size += len(s) + 1; !utf8.ValidString(s) {
			return fmt.Errorf("%w: an argument or a variable is not UTF-8", ErrSpec) // JSON would change it
		}
	}
	if size > maxOrder {
		return fmt.Errorf("%w: more than %d bytes of arguments and variables", ErrSpec, maxOrder)
	}
	return CheckEnv(o.Env)
}

// maxOrder is the kernel's default limit for arguments and environment. A frame has room for that
// many bytes even if every byte is escaped.
const maxOrder = 2 << 20

const maxGrace = time.Hour

func validID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
		default:
			return false
		}
	}
	return id != "" && len(id) <= 128
}
