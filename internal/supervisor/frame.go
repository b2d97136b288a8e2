package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// frame is what goes over a connection: a line of JSON, behind which Size bytes follow as
// they are. Streams have no limit of length, they are cut into frames.
//
//	{"t":"start","n":1,"start":{"id":"a","args":["cat"],"dir":"/work"}}
//	{"t":"data","s":1,"size":5}hello
type frame struct {
	Type string `json:"t"`
	N    int64  `json:"n,omitempty"`    // of a request, and of what answers it; 0 wants no answer
	S    int    `json:"s,omitempty"`    // the stream
	Size int    `json:"size,omitempty"` // of data: how many bytes follow; of an ack: how many were taken

	Health    *Health   `json:"health,omitempty"`
	Start     *order    `json:"start,omitempty"`
	Processes []Running `json:"processes,omitempty"`
	Exit      *ended    `json:"exit,omitempty"`
	Window    *Size     `json:"window,omitempty"`
	Signal    int       `json:"signal,omitempty"`
	Pid       int       `json:"pid,omitempty"`
	Code      string    `json:"code,omitempty"`  // which error
	Error     string    `json:"error,omitempty"` // its text

	data []byte
}

// The types of frames.
const (
	typeHello   = "hello"   // inside, first of all: Health
	typePing    = "ping"    // both; with N it is answered
	typePong    = "pong"    // inside: Health
	typeList    = "list"    // host
	typeListed  = "listed"  // inside: Processes
	typeStart   = "start"   // host: Start
	typeStarted = "started" // inside: Pid
	typeRefused = "refused" // inside: Code, Error; with N 0 the connection itself
	typeData    = "data"    // both: S, Size and the bytes
	typeEnd     = "end"     // both: S has no more data
	typeShut    = "shut"    // both: nobody reads S any more
	typeAck     = "ack"     // both: S, Size bytes were taken
	typeKill    = "kill"    // host
	typeSignal  = "signal"  // host: Signal
	typeResize  = "resize"  // host: Window
	typeExit    = "exit"    // inside: Exit
)

// The streams.
const (
	streamIn = iota
	streamOut
	streamErr
	streamChannel
	streams
)

const (
	maxHeader = 16 << 20 // more than a kernel takes for a program's arguments and environment
	// maxAnswer bounds a line from inside: JSON becomes many times as large in memory, and
	// who is inside need not be a supervisor.
	maxAnswer = 1 << 20
	maxData   = 64 << 10
	// window is how much of a stream is under way without being taken: it bounds what a
	// reader who does not read costs.
	window = 512 << 10
)

// order is a [Spec] as it goes over the wire.
type order struct {
	ID       string   `json:"id"`
	Args     []string `json:"args"`
	Env      []string `json:"env,omitempty"`
	Dir      string   `json:"dir"`
	Channel  bool     `json:"channel,omitempty"`
	Terminal *Size    `json:"terminal,omitempty"`
	GraceMS  int64    `json:"grace_ms"`
}

// ended is an [Exit] as it goes over the wire.
type ended struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	OOM    bool   `json:"oom,omitempty"`
	Tail   []byte `json:"tail,omitempty"`
}

var errFrame = errors.New("not a frame")

// readFrame reads one frame, whose line has at most so many bytes. Its data is valid until
// the next.
func readFrame(r *bufio.Reader, data []byte, most int) (*frame, error) {
	line, err := readLine(r, most)
	if err != nil {
		return nil, err
	}
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	if f.S < 0 || f.S >= streams || f.Size < 0 || f.Size > window || f.Type == typeData && f.Size > min(maxData, len(data)) {
		return nil, fmt.Errorf("%w: %s of stream %d, %d bytes", errFrame, f.Type, f.S, f.Size)
	}
	if f.Type == typeData {
		f.data = data[:f.Size]
		if _, err := io.ReadFull(r, f.data); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return &f, nil
}

// readLine reads up to a newline. A line that fits the reader's buffer is valid until the
// next read.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return line, err
	}
	long := append([]byte(nil), line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > most {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", errFrame, most)
		}
		line, err = r.ReadSlice('\n')
		long = append(long, line...)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return long, err
}

// encode makes a frame's line. Its data goes behind it.
func encode(f *frame, data []byte) ([]byte, error) {
	if f.Type == typeData {
		f.Size = len(data)
	}
	line, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if len(line) > maxHeader {
		return nil, fmt.Errorf("%w: %d bytes", errFrame, len(line))
	}
	return append(line, '\n'), nil
}
