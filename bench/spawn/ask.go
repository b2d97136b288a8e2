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

// The ways. Those of a kernel policy read everything and write the folder.
const (
	Fork   Way = "fork"    // syscall.ForkExec and wait4: what the others are compared with
	OSExec Way = "os/exec" // os/exec

	Weaker    Way = "weaker"     // Landlock and seccomp alone; fails where namespaces can be made
	NoSockets Way = "no sockets" // namespaces, but for the network's
	NoNetwork Way = "no network" // and a network namespace with nothing in it
	Told      Way = "told"       // and refused calls are told
	Proxy     Way = "proxy"      // a network namespace with a listener in it, on which we accept

	Open      Way = "open"       // sandbox.Open with no settings, then Command
	OpenProxy Way = "open proxy" // the same with a host that may be reached
)

// Ask is one block of starts.
type Ask struct {
	Way     Way
	Argv    []string // the program by its path, and its arguments
	Dir     string   // where it starts, and what it may write
	Env     []string
	Times   int
	Workers int // how many start at once; 0 is 1
}

// Answer is how a block went.
type Answer struct {
	Took  []time.Duration // of each start, in no order when there are several workers
	Wall  time.Duration   // of the block
	Error string          // "" when every program ended with status 0
}

// Client asks a process that serves. It is for one goroutine.
type Client struct {
	in  *json.Encoder
	out *json.Decoder
}

// NewClient asks by way of the standard input and output of a serving process.
func NewClient(in io.Writer, out io.Reader) *Client {
	return &Client{json.NewEncoder(in), json.NewDecoder(out)}
}

// Block has a block of starts made.
func (c *Client) Block(a *Ask) (*Answer, error) {
	if err := c.in.Encode(a); err != nil {
		return nil, err
	}
	var answer Answer
	if err := c.out.Decode(&answer); err != nil {
		return nil, fmt.Errorf("no answer from the process that starts: %w", err)
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return &answer, nil
}
