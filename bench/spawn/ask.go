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

// The ways. Those with a kernel policy may read everything and write the folder.
const (
	Fork   Way = "fork"    // syscall.ForkExec and wait4: the control
	OSExec Way = "os/exec" // os/exec

	Weaker    Way = "weaker"     // Landlock and seccomp only; fails where namespaces are available
	NoSockets Way = "no sockets" // all namespaces except the network's
	NoNetwork Way = "no network" // and an empty network namespace
	Told      Way = "told"       // and refused calls are reported
	Proxy     Way = "proxy"      // a network namespace with a listener that this process accepts on

	Open      Way = "open"       // sandbox.Open with no settings, then Command
	OpenProxy Way = "open proxy" // the same with one allowed host
)

// Ask requests one block of starts.
type Ask struct {
	Way     Way
	Argv    []string // the program's path, and its arguments
	Dir     string   // the working folder, which it may write
	Env     []string
	Times   int
	Workers int // concurrent starts; 0 is 1
}

// Answer is the result of a block.
type Answer struct {
	Took  []time.Duration // of each start; unordered if there are several workers
	Wall  time.Duration   // of the block
	Error string          // "" if every program ended with status 0
}

// Client sends requests to a serving process. It is for one goroutine.
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
