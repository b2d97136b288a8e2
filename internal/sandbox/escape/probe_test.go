//go:build linux

package escape

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The exit codes of a probe.
const (
	codeEscaped = 0
	codeStopped = 1
	codeBroken  = 77 // it did not reach its attempt
)

// errBroken means that the probe did not reach its attempt.
var errBroken = errors.New("broken")

// outside describes the outside for a probe: paths and addresses, but no secrets.
type outside struct {
	Base, WS, Out, Secret, Home, State, Bin string

	Address                  string // of an interface of the host
	Port, Port6, PortAddress int    // of servers on 127.0.0.1, ::1 and Address
	UDP                      int
	Free                     int // an unused port
	SockOut, SockWS          string
	Abstract, AbstractDgram  string
	Shm                      int // key of a segment
	Queue                    string
	Victim                   int
	VictimEnv                uint64 // address of the victim's environment in its memory
	Pts                      string // a terminal of the host
	Marker                   string // an unused name
	KeySize                  int64  // of Secret/key
	Net                      string // the host's network, as /proc names it

	args []string
}

// probe runs in place of a command: one attempt by its id.
func probe(id string, args []string) int {
	p, err := readOutside(args[0])
	if err != nil {
		fmt.Println(err)
		return codeBroken
	}
	p.args = args[1:]
	a := find(id)
	if a == nil {
		fmt.Println("no attempt", id)
		return codeBroken
	}
	if a.script != "" {
		return p.shell(a.script)
	}
	switch err := a.try(p); {
	case err == nil:
		return codeEscaped
	case errors.Is(err, errBroken):
		fmt.Println(err)
		return codeBroken
	default:
		fmt.Println("stopped:", err)
		return codeStopped
	}
}

func readOutside(base string) (*outside, error) {
	b, err := os.ReadFile(filepath.Join(base, "place.json"))
	if err != nil {
		return nil, err
	}
	p := &outside{}
	return p, json.Unmarshal(b, p)
}

// shell executes a shell that runs a script; the paths are in its environment.
func (p *outside) shell(script string) int {
	env := append(os.Environ(),
		"WS="+p.WS, "OUT="+p.Out, "SECRET="+p.Secret, "REALHOME="+p.Home, "STATE="+p.State, "BIN="+p.Bin, "BASE="+p.Base,
		"VICTIM="+strconv.Itoa(p.Victim), "PORT="+strconv.Itoa(p.Port), "MARKER="+p.Marker, "PTS="+p.Pts)
	err := syscall.Exec("/bin/sh", []string{"sh", "-c", script}, env)
	fmt.Println("sh:", err)
	return codeBroken
}

func find(id string) *attempt {
	for _, list := range attempts() {
		for i := range list {
			if list[i].id == id {
				return &list[i]
			}
		}
	}
	return nil
}

// appears waits until a file exists.
func appears(name string, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if _, err := os.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// ready informs the host that the probe waits, and waits until it may continue.
func (p *outside) ready() error {
	if err := os.WriteFile(p.WS+"/ready", nil, 0o666); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	if !appears(p.WS+"/go", 20*time.Second) {
		return fmt.Errorf("%w: no go from the host", errBroken)
	}
	return nil
}

// anyOf tries all, and succeeds if one does.
func anyOf(tries ...func() error) error {
	var errs []error
	for _, try := range tries {
		err := try()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// errno returns a number as an error: 0 is nil.
func errno(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// opened returns nil if a file can be opened with these flags.
func opened(name string, flags int) error {
	fd, err := syscall.Open(name, flags|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	return syscall.Close(fd)
}

// openedOne returns nil if one of several files can be opened.
func openedOne(flags int, patterns ...string) error {
	var errs []error
	for _, pattern := range patterns {
		names, _ := filepath.Glob(pattern)
		if !strings.ContainsAny(pattern, "*?[") {
			names = []string{pattern}
		}
		for _, name := range names {
			err := opened(name, flags)
			if err == nil {
				fmt.Println("opened", name)
				return nil
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, fmt.Errorf("none of %v", patterns))...)
}
