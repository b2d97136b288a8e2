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

// Protocol is the version of the frames. Both sides must have the same.
const Protocol = 1

// The places inside a container.
const (
	Folder     = "/run/holdfast"           // the folder that is bound from the host
	SocketName = "supervisor.sock"         // in it: what Dial connects to
	EgressName = "egress.sock"             // in it: the host's proxy, when there is one
	Proxy      = "127.0.0.1:3128"          // where the supervisor listens for that proxy, whether it is there or not
	Socket     = Folder + "/" + SocketName // inside
	Egress     = Folder + "/" + EgressName // inside
)

// Grace is how long a process has between SIGTERM and SIGKILL when its [Spec] says nothing.
const Grace = 5 * time.Second

// TailSize is how many bytes of standard error are kept.
const TailSize = 8 << 10

// Spec says what to start.
type Spec struct {
	// ID names the process among those that run in the container: 1 to 128 letters,
	// digits, dots, dashes and underlines, not starting with a dot. A second one of the
	// same name is refused with [ErrRunning].
	ID string
	// Args is the command line. Args[0] is looked up in the image's PATH, or is a path.
	// What else runs in the container can read it: secrets belong into Env.
	Args []string
	// Env are variables besides the fixed ones, "NAME=value"; see [CheckEnv]. The last
	// of a name counts.
	Env []string
	// Dir is the working folder, absolute.
	Dir string
	// Channel gives the process an additional two-way stream: its descriptor 3.
	Channel bool
	// Terminal makes the standard streams one terminal: what the process writes comes
	// by Stdout, standard error too. Nil: they are pipes.
	Terminal *Size
	// Grace is the time from SIGTERM to SIGKILL; 0 is [Grace], less kills at once.
	Grace time.Duration
	// Stderr gets a copy of what the process writes to standard error, in order, from one
	// goroutine; nil keeps the last [TailSize] bytes alone. One that does not return
	// stops the process's standard error and nothing else.
	Stderr io.Writer
}

// Size is the size of a terminal in characters.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Exit is how a process ended, and with it everything that it had started.
type Exit struct {
	Code   int    // 128 and the signal's number when a signal ended it
	Signal string // "SIGKILL"; "" when it exited by itself
	// OOM: the kernel killed it, or the child that it ran, for the container's memory. It
	// is told from the container's counter, never from the signal or the code alone.
	OOM    bool
	Stderr string // the last [TailSize] bytes of standard error
}

// Running is a process that runs in the container.
type Running struct {
	ID      string    `json:"id"`
	Program string    `json:"program"` // Args[0]; of a long one the end
	Pid     int       `json:"pid"`     // in the container
	Started time.Time `json:"started"`
}

// Health is what a supervisor says of itself.
type Health struct {
	Version  string `json:"version"`  // of holdfast
	Protocol int    `json:"protocol"` // see [Protocol]
	Pid      int    `json:"pid"`      // in the container
	UID      int    `json:"uid"`
	// Confined: sessions are kept apart from each other and from the supervisor by
	// Landlock: files of the supervisor, memory and environments. SignalsConfined: they
	// cannot send each other signals either. Unconfined says why one of them is not so.
	Confined        bool   `json:"confined"`
	SignalsConfined bool   `json:"signals_confined"`
	Unconfined      string `json:"unconfined,omitempty"`
	Processes       int    `json:"processes"`
	// OOMKills is how often the kernel has killed for the container's memory; -1 when
	// it cannot be read.
	OOMKills int64 `json:"oom_kills"`
	// Proxy: the way to the host's proxy is there.
	Proxy bool `json:"proxy"`
}

// order is the spec as it goes over the wire, once it is checked.
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

// check says whether an order is one that could be started. Both sides ask.
func (o *order) check() error {
	switch {
	case !validID(o.ID):
		return fmt.Errorf("%w: the id %s is not 1 to 128 letters, digits, dots, dashes and underlines, or starts with a dot",
			ErrSpec, strconv.QuoteToASCII(o.ID))
	case len(o.Args) == 0 || o.Args[0] == "":
		return fmt.Errorf("%w: no program", ErrSpec)
	case !strings.HasPrefix(o.Dir, "/"):
		return fmt.Errorf("%w: the folder %q is not absolute", ErrSpec, o.Dir)
	case strings.IndexByte(o.Dir, 0) >= 0 || slices.ContainsFunc(o.Args, func(a string) bool { return strings.IndexByte(a, 0) >= 0 }):
		return fmt.Errorf("%w: a NUL byte in the arguments or the folder", ErrSpec)
	case o.GraceMS < 0 || o.GraceMS > maxGrace.Milliseconds():
		return fmt.Errorf("%w: a grace of more than %v", ErrSpec, maxGrace)
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

// maxOrder is what kernels take, by default, for arguments and environment; with every
// byte escaped it fits a frame.
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
