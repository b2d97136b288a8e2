package reaper

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Order is what a reaper starts.
type Order struct {
	Args     []string // Args[0] is looked up in the PATH of Env, or is a path
	Env      []string // the whole environment
	Dir      string   // absolute
	Channel  bool     // the next descriptor becomes the program's descriptor 3
	Confined bool     // the next descriptor is a Landlock ruleset for the program
	Terminal bool     // the program's standard input becomes its controlling terminal
	Adj      int      // its oom_score_adj
	Grace    int      // milliseconds from SIGTERM to SIGKILL after the supervisor is lost
}

// maxOrder is more than a kernel accepts for a program's arguments and environment.
const maxOrder = 16 << 20

var errOrder = errors.New("not an order")

// Write writes the order. It rejects strings with NUL bytes, which cannot be passed to a program.
func (o *Order) Write(w io.Writer) error {
	b := []byte{0, 0, 0, 0}
	parts := append([]string{
		flag(o.Channel) + flag(o.Confined) + flag(o.Terminal), strconv.Itoa(o.Adj), strconv.Itoa(o.Grace), o.Dir, strconv.Itoa(len(o.Args)),
	}, o.Args...)
	for _, s := range append(parts, o.Env...) {
		if strings.IndexByte(s, 0) >= 0 {
			return errOrder
		}
		b = append(append(b, s...), 0)
	}
	if len(b)-4 > maxOrder {
		return errOrder
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	_, err := w.Write(b)
	return err
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

// Read reads an order.
func Read(r io.Reader) (*Order, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n == 0 || n > maxOrder {
		return nil, errOrder
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return parse(b)
}

func parse(b []byte) (*Order, error) {
	if len(b) == 0 || b[len(b)-1] != 0 {
		return nil, errOrder
	}
	parts := strings.Split(string(b[:len(b)-1]), "\x00")
	const fixed = 5
	if len(parts) < fixed || len(parts[0]) != 3 || strings.Trim(parts[0], "01") != "" {
		return nil, errOrder
	}
	adj, err1 := strconv.Atoi(parts[1])
	grace, err2 := strconv.Atoi(parts[2])
	n, err3 := strconv.Atoi(parts[4])
	if err1 != nil || err2 != nil || err3 != nil || n < 1 || n > len(parts)-fixed {
		return nil, errOrder
	}
	flags := parts[0]
	return &Order{
		Args: parts[fixed : fixed+n], Env: parts[fixed+n:], Dir: parts[3],
		Channel: flags[0] == '1', Confined: flags[1] == '1', Terminal: flags[2] == '1', Adj: adj, Grace: grace,
	}, nil
}

// IsInvocation reports whether a command line, without the program's name, starts a reaper.
func IsInvocation(args []string) bool {
	return len(args) == 2 && args[0] == "supervise" && args[1] == "child"
}
