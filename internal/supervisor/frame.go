package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// frame is the unit of a connection: a line of JSON, followed by Size raw bytes. Streams have no length limit;
// they are split into frames.
//
//	{"t":"start","n":1,"start":{"id":"a","args":["cat"],"dir":"/work"}}
//	{"t":"data","s":1,"size":5}hello
type frame struct {
	Type string `json:"t"`
	N    int64  `json:"n,omitempty"`    // the number of a request, which its response repeats; 0 if no response is expected
	S    int    `json:"s,omitempty"`    // the stream
	Size int    `json:"size,omitempty"` // in a data frame, the number of bytes that follow; in an ack, the number of bytes taken

	Health    *Health   `json:"health,omitempty"`
	Start     *order    `json:"start,omitempty"`
	Processes []Running `json:"processes,omitempty"`
	Exit      *ended    `json:"exit,omitempty"`
	Window    *Size     `json:"window,omitempty"`
	Signal    int       `json:"signal,omitempty"`
	Pid       int       `json:"pid,omitempty"`
	Code      string    `json:"code,omitempty"`  // the error's code
	Error     string    `json:"error,omitempty"` // the error's text

	data []byte
}

// These are the types of frames, with the side that sends each.
const (
	typeHello   = "hello"   // container, first frame: Health
	typePing    = "ping"    // both; a frame with N is answered
	typePong    = "pong"    // container: Health
	typeList    = "list"    // host
	typeListed  = "listed"  // container: Processes
	typeStart   = "start"   // host: Start
	typeStarted = "started" // container: Pid
	typeRefused = "refused" // container: Code, Error; if N is 0, the connection itself is refused
	typeData    = "data"    // both: S, Size and the bytes
	typeEnd     = "end"     // both: S has no more data
	typeShut    = "shut"    // both: S is no longer read
	typeAck     = "ack"     // both: S, Size bytes were taken
	typeKill    = "kill"    // host
	typeSignal  = "signal"  // host: Signal
	typeResize  = "resize"  // host: Window
	typeExit    = "exit"    // container: Exit
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
	maxHeader = 16 << 20 // maximum size; larger than the arguments and environment that a kernel accepts for a program
	// maxAnswer is the maximum length of a line from the container: JSON takes many times its size in memory, and
	// the sender need not be a supervisor.
	maxAnswer = 1 << 20
	maxData   = 64 << 10
	// window is the maximum number of bytes of a stream in transit that were not taken: it limits the memory for a
	// slow reader.
	window = 512 << 10
)

// order is a [Spec] in the protocol's form.
type order struct {
	ID       string   `json:"id"`
	Args     []string `json:"args"`
	Env      []string `json:"env,omitempty"`
	Dir      string   `json:"dir"`
	Channel  bool     `json:"channel,omitempty"`
	Terminal *Size    `json:"terminal,omitempty"`
	GraceMS  int64    `json:"grace_ms"`
}

// ended is the protocol's form of an [Exit].
type ended struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	OOM    bool   `json:"oom,omitempty"`
	Tail   []byte `json:"tail,omitempty"`
}

var errFrame = errors.New("not a frame")

// readFrame reads one frame. Its line must not be longer than the given number of bytes. The
// frame's data is valid until the next read.
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

// readLine reads up to a newline. If a line fits into the reader's buffer, it is valid only until
// the next read.
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
			return nil, fmt.Errorf("%w: its line is longer than %d bytes", errFrame, most)
		}
		line, err = r.ReadSlice('\n')
		long = append(long, line...)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return long, err
}

// encode returns a frame's line. Its data follows the line.
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
