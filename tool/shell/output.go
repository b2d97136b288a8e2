package shell

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// output keeps what the model is shown of a command's output, its beginning and
// its end, in bounded memory, and all of it in a file once it is longer.
type output struct {
	show int    // bytes
	dir  string // of the file, or "" for none
	most int64  // bytes of the file

	head  []byte
	tail  []byte // the last bytes after head; cut back now and then
	total int64
	file  *os.File
	sum   hash.Hash // of what was written to it
	wrote int64
	err   error // of the file
}

func (o *output) write(b []byte) {
	if o.total <= int64(o.show) && o.total+int64(len(b)) > int64(o.show) {
		o.spill()
	}
	o.total += int64(len(b))
	if o.file != nil {
		o.keep(b)
	}
	if room := o.show/2 - len(o.head); room > 0 {
		n := min(room, len(b))
		o.head, b = append(o.head, b[:n]...), b[n:]
	}
	o.tail = append(o.tail, b...)
	if last := o.show - o.show/2; len(o.tail) > 4*o.show {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-last:]...)
	}
}

// spill opens the file and puts in what came so far.
func (o *output) spill() {
	if o.dir == "" {
		return
	}
	name := filepath.Join(o.dir, "output-"+rand.Text()[:16]+".txt")
	if o.err = os.MkdirAll(o.dir, 0o700); o.err != nil {
		return
	}
	if o.file, o.err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); o.err != nil {
		o.file = nil
		return
	}
	o.sum = sha256.New()
	o.keep(o.head)
	o.keep(o.tail)
}

func (o *output) keep(b []byte) {
	room := o.most - o.wrote
	if o.err != nil || room <= 0 {
		return
	}
	n, err := o.file.Write(b[:min(int64(len(b)), room)])
	o.wrote += int64(n)
	o.sum.Write(b[:n])
	o.err = err
}

func (o *output) close() {
	if o.file != nil {
		o.file.Close()
	}
}

// text is what the model is shown.
func (o *output) text() string {
	if o.total <= int64(o.show) {
		return printable(append(o.head, o.tail...))
	}
	tail := o.tail[len(o.tail)-min(len(o.tail), o.show-o.show/2):]
	head, tail := wholeRunes(o.head, tail)
	left := o.total - int64(len(head)) - int64(len(tail))
	where := "they were not kept"
	switch {
	case o.file != nil && o.err == nil && o.wrote == o.total:
		where = fmt.Sprintf("the whole output is in %s (%d bytes, sha256 %x)", o.file.Name(), o.wrote, o.sum.Sum(nil))
	case o.file != nil && o.wrote > 0:
		where = fmt.Sprintf("the first %d bytes are in %s (sha256 %x)", o.wrote, o.file.Name(), o.sum.Sum(nil))
	}
	return fmt.Sprintf("%s\n...(truncated)... [… %d bytes left out; %s …]\n%s", printable(head), left, where, printable(tail))
}

// wholeRunes takes away the halves of characters at a cut.
func wholeRunes(head, tail []byte) ([]byte, []byte) {
	for n := 1; n < utf8.UTFMax && n <= len(head); n++ {
		if c := head[len(head)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(head[len(head)-n:]) {
				head = head[:len(head)-n]
			}
			break
		}
	}
	for n := 0; n < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); n++ {
		tail = tail[1:]
	}
	return head, tail
}

// printable makes text of bytes: what is not UTF-8, and NUL, becomes U+FFFD.
func printable(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}
