package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/transcript"
)

// pieces splits a transcript.json into the part before its messages, each message with the
// comma before it, and the rest. Together they are the whole file.
//
//	{"messages":[ │ {…} │ ,{…} │ ,{…} │ ],"metadata":{…}}
type pieces struct {
	r     *bufio.Reader
	state int
	depth int
	buf   []byte
	n     int
}

// The states of pieces.
const (
	beforeMessages = iota
	inMessages
	afterMessages
)

func newPieces(r io.Reader) *pieces { return &pieces{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next piece; at the end the error is io.EOF.
func (p *pieces) next() (piece []byte, ended bool, err error) {
	p.buf = p.buf[:0]
	switch p.state {
	case beforeMessages:
		err = p.head()
	case inMessages:
		err = p.message()
	default:
		err = p.rest()
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(p.buf) == 0) {
		return nil, false, err
	}
	p.n++
	return p.buf, false, nil
}

// byte adds one more byte to the piece.
func (p *pieces) byte() (byte, error) {
	c, err := p.r.ReadByte()
	if err == nil {
		if p.buf = append(p.buf, c); len(p.buf) > maxLine {
			return 0, errLong
		}
	}
	return c, err
}

// literal adds the rest of a JSON string to the piece.
func (p *pieces) literal() error {
	for {
		c, err := p.byte()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			return nil
		case '\\':
			if _, err := p.byte(); err != nil {
				return err
			}
		}
	}
}

// head reads the file up to the opening bracket of the messages.
func (p *pieces) head() error {
	key := ""
	for {
		start := len(p.buf)
		c, err := p.byte()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			if err := p.literal(); err != nil {
				return err
			}
			if p.depth == 1 {
				key = string(p.buf[start:])
			}
		case '{', '[':
			if c == '[' && p.depth == 1 && key == `"messages"` {
				p.state = inMessages
				return nil
			}
			p.depth++
		case '}', ']':
			p.depth--
		case ',':
			key = ""
		}
	}
}

// message reads one message, without the comma or bracket after it.
func (p *pieces) message() error {
	depth, begun := 0, false
	for {
		next, err := p.r.Peek(1)
		if err != nil {
			return err
		}
		c := next[0]
		if depth == 0 && begun && (c == ',' || c == ']') {
			return nil
		}
		if depth == 0 && c == ']' {
			p.state = afterMessages
			return p.rest()
		}
		if _, err := p.byte(); err != nil {
			return err
		}
		switch c {
		case '"':
			if err := p.literal(); err != nil {
				return err
			}
			begun = true
		case '{', '[':
			depth++
			begun = true
		case '}', ']':
			depth--
		default:
			begun = begun || !jsonscan.IsSpace(c) && c != ','
		}
	}
}

func (p *pieces) rest() error {
	for {
		if _, err := p.byte(); err != nil {
			return err
		}
	}
}

// openAgent reads transcript.json files.
type openAgent struct {
	f     fileMeta
	model []byte
	fault error
	frame []byte // everything except the messages
	pos   int    // number of lines of the file so far
	total int    // number of pieces
}

func (o *openAgent) index(n int, piece, _ []byte) {
	o.total = n
	line := o.pos + 1 + bytes.Count(piece[:len(piece)-len(bytes.TrimLeft(piece, " \t\r\n,"))], []byte{'\n'})
	o.pos += bytes.Count(piece, []byte{'\n'})
	message := bytes.TrimLeft(piece, " \t\r\n,")
	switch {
	case n == 1, len(message) > 0 && message[0] == ']':
		o.frame = append(o.frame, piece...)
	default:
		if valid, _ := check(message); !valid && o.fault == nil {
			o.fault = fmt.Errorf("line %d: message %d is not JSON", line, n-2)
		}
	}
}

func (o *openAgent) plan(warn func(int, string, ...any)) fileMeta {
	meta := field(o.frame, "metadata")
	valid, _ := check(o.frame)
	switch {
	case o.fault != nil:
	case !valid:
		o.fault = fmt.Errorf("line %d: the file is incomplete", o.pos+1)
	case !isObject(meta):
		o.fault = errors.New("the metadata is missing")
	}
	members(meta, func(key string, v []byte) bool {
		switch key {
		case "id":
			o.f.session = text(v)
		case "cwd":
			o.f.cwd = text(v)
		case "gitBranch":
			o.f.branch = text(v)
		case "summary":
			o.f.summary = text(v)
		case "tag":
			o.f.tag = text(v)
		case "createdAt":
			o.f.created = dated(v, 0, warn)
		case "updatedAt":
			o.f.updated = dated(v, 0, warn)
		case "model":
			o.model = modelOf(v)
		}
		return true
	})
	return o.f
}

func (o *openAgent) read(k originalLine, _ []byte, out *readerOutput) error {
	n, message := k.n, bytes.TrimLeft(k.raw, " \t\r\n,")
	if n == 1 || n == o.total {
		return out.unmapped(k)
	}
	var role string
	var content []byte
	members(message, func(key string, v []byte) bool {
		switch key {
		case "role":
			role = text(v)
		case "content":
			content = v
		}
		return true
	})
	it := &item{id: "message-" + strconv.Itoa(n-2), role: transcript.Role(role), line: n, kept: []originalLine{k}, parts: partsOf(compacted(content))}
	switch it.role {
	case transcript.RoleUser:
		if it.answers() {
			it.role = transcript.RoleTool
		}
	case transcript.RoleAssistant:
		it.model = o.model
	case transcript.RoleSystem, transcript.RoleDeveloper:
	default:
		out.warn(n, "message %d has the unknown role %q: it is stored but not sent to models", n-2, role)
		return out.unmapped(k)
	}
	return out.item(it)
}

func (o *openAgent) end(*readerOutput) error { return nil }
