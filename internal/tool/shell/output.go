package shell

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// output keeps the beginning and the end of a command's output in memory of limited size. Longer
// output is written completely to a file.
//
// While the command runs, the file has no name and contains ciphertext, so that nothing remains if the
// program is killed. The stored output gets its name when the command has ended.
type output struct {
	maxShown int    // bytes
	dir      string // of the file, or "" for none
	maxFile  int64  // maximum size of the file
	store    func(text []byte) (*StoredOutput, error)

	head  []byte
	tail  []byte // the last bytes after head; it is shortened from time to time
	total int64
	file  *os.File
	key   [48]byte // the AES key of the file, then the initial counter of its stream
	in    cipher.Stream
	wrote int64
	err   error // of the file
}

// StoredOutput describes a long output that is stored in a file.
type StoredOutput struct {
	Name string // of the file
	Text []byte // the content for readers
	File []byte // the bytes to write to the disk: Text, unless the file is sealed
}

func (o *output) write(b []byte) {
	if o.total <= int64(o.maxShown) && o.total+int64(len(b)) > int64(o.maxShown) {
		o.spill()
	}
	o.total += int64(len(b))
	if o.file != nil {
		o.keep(b)
	}
	if room := o.maxShown/2 - len(o.head); room > 0 {
		n := min(room, len(b))
		o.head, b = append(o.head, b[:n]...), b[n:]
	}
	o.tail = append(o.tail, b...)
	if last := o.maxShown - o.maxShown/2; len(o.tail) > 4*o.maxShown {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-last:]...)
	}
}

// spill opens the file and writes all output so far to it.
func (o *output) spill() {
	if o.dir == "" {
		return
	}
	if o.err = os.MkdirAll(o.dir, 0o700); o.err != nil {
		return
	}
	if o.file, o.err = os.CreateTemp(o.dir, ".running-*"); o.err != nil { // mode 0600
		o.file = nil
		return
	}
	_ = os.Remove(o.file.Name()) // if that is not possible, close removes it
	rand.Read(o.key[:])
	o.in = o.stream()
	o.keep(o.head)
	o.keep(o.tail)
}

func (o *output) stream() cipher.Stream {
	block, err := aes.NewCipher(o.key[:32])
	if err != nil {
		panic(err) // the key has the right length
	}
	return cipher.NewCTR(block, o.key[32:])
}

func (o *output) keep(b []byte) {
	room := o.maxFile - o.wrote
	if o.err != nil || room <= 0 {
		return
	}
	b = b[:min(int64(len(b)), room)]
	sealed := make([]byte, len(b))
	o.in.XORKeyStream(sealed, b)
	n, err := o.file.Write(sealed)
	o.wrote += int64(n)
	o.err = err
}

func (o *output) close() {
	if o.file != nil {
		o.file.Close()
		_ = os.Remove(o.file.Name())
	}
}

// put stores the file under its name and returns its path.
func (o *output) put() (path string, kept *StoredOutput, err error) {
	if o.file == nil || o.err != nil {
		return "", nil, errors.Join(o.err, errors.New("no output file"))
	}
	if _, err := o.file.Seek(0, io.SeekStart); err != nil {
		return "", nil, err
	}
	text := make([]byte, o.wrote)
	if _, err := io.ReadFull(o.file, text); err != nil {
		return "", nil, err
	}
	o.stream().XORKeyStream(text, text)
	kept = &StoredOutput{Name: "output-" + rand.Text()[:16] + ".txt", Text: text, File: text}
	if o.store != nil {
		if kept, err = o.store(text); err != nil {
			return "", nil, err
		}
	}
	path = filepath.Join(o.dir, kept.Name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, err
	}
	_, err = f.Write(kept.File)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", nil, errors.Join(err, os.Remove(path))
	}
	return path, kept, nil
}

// text returns the output for the model.
func (o *output) text() string {
	if o.total <= int64(o.maxShown) {
		return printable(append(o.head, o.tail...))
	}
	tail := o.tail[len(o.tail)-min(len(o.tail), o.maxShown-o.maxShown/2):]
	head, tail := wholeRunes(o.head, tail)
	left := o.total - int64(len(head)) - int64(len(tail))
	where := "they were not stored"
	if path, kept, err := o.put(); err == nil {
		about := fmt.Sprintf("sha256 %x", sha256.Sum256(kept.Text))
		if len(kept.File) != len(kept.Text) {
			about += "; the file is encrypted: use Read or Grep to read it"
		}
		if o.wrote == o.total {
			where = fmt.Sprintf("the whole output is in %s (%d bytes, %s)", path, len(kept.Text), about)
		} else {
			where = fmt.Sprintf("the first %d bytes are in %s (%s)", o.wrote, path, about)
		}
	}
	return fmt.Sprintf("%s\n...(truncated)... [… %d bytes left out; %s …]\n%s", printable(head), left, where, printable(tail))
}

// wholeRunes removes incomplete characters at a cut.
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

// printable converts bytes to text: invalid UTF-8 and NUL become U+FFFD.
func printable(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}
