package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Way is how a program is started.
type Way string

// The ways. Programs that are started in a way with a kernel policy may read everything and write
// only the folder.
const (
	Fork   Way = "fork"    // starts with syscall.ForkExec and wait4: the control
	OSExec Way = "os/exec" // os/exec

	Weaker    Way = "weaker"     // uses only Landlock and seccomp; fails where namespaces are available
	NoSockets Way = "no sockets" // uses all namespaces except the network namespace
	NoNetwork Way = "no network" // like NoSockets, with an empty network namespace
	Reporting Way = "told"       // like NoNetwork, and reports refused calls
	Proxy     Way = "proxy"      // uses a network namespace with a listener on which this process accepts connections

	Open      Way = "open"       // calls sandbox.Open without settings, then Command
	OpenProxy Way = "open proxy" // like Open, with one allowed host
)

// Ask requests one block of starts.
type Ask struct {
	Way     Way
	Argv    []string // the program's path, and its arguments
	Dir     string   // the working folder, which the started program may write
	Env     []string
	Times   int
	Workers int // concurrent starts; 0 is 1
}

// Answer is the result of a block.
type Answer struct {
	Took  []time.Duration // the time of each start; in no fixed order if there are several workers
	Wall  time.Duration   // the time of the whole block
	Error string          // empty if every program ended with status 0
}

// Client sends requests to a serving process. A Client must be used by one goroutine at a time.
type Client struct {
	in  *json.Encoder
	out *json.Decoder
}

// NewClient returns a client that uses the standard input and output of a serving process.
func NewClient(in io.Writer, out io.Reader) *Client {
	return &Client{json.NewEncoder(in), json.NewDecoder(out)}
}

// Block runs a block of starts.
func (c *Client) Block(a *Ask) (*Answer, error) {
	if err := c.in.Encode(a); err != nil {
		return nil, err
	}
	var answer Answer
	if err := c.out.Decode(&answer); err != nil {
		return nil, fmt.Errorf("no answer from the process that starts programs: %w", err)
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return &answer, nil
}
