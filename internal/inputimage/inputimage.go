// Package inputimage checks the images that users send to a model, and names them in text.
//
//	file, clipboard, request ─► Check ─► MIME type: png, jpeg, gif, webp
//	                            Input ─► parts for an agent
//	                            Label ─► "[Image #1 plan.png 12 KiB]" in the text of the message
//
// It decodes no pixels. An image that a provider would reject must not become part of a session,
// because every later request contains it.
package inputimage

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Limits that all providers accept. Anthropic, for example, rejects an image whose base64 form is
// larger than 5 MiB or whose side is longer than 8,000 pixels.
const (
	MaxBytes = 5 << 20 / 4 * 3
	MaxSide  = 8000
	MaxCount = 20      // images of a message; with more, providers want smaller ones
	MaxTotal = 6 << 20 // bytes of all images of a message
)

// Error says why images cannot be sent.
type Error struct{ message, hint string }

func (e *Error) Error() string { return e.message }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.hint }

// OutcomeCode is the code of an invalid request; see package internal/outcome.
func (e *Error) OutcomeCode() string { return "usage" }

// Check returns the MIME type of an image. The error is an *[Error] if the data is not a PNG, JPEG,
// GIF or WebP image, or is too large.
func Check(data []byte) (mime string, err error) {
	mime, problem := check(data)
	if problem != nil {
		return "", problem
	}
	return mime, nil
}

func check(data []byte) (mime string, problem *Error) {
	if mime = kind(string(data[:min(len(data), 16)])); mime == "" {
		return "", &Error{"it is not an image that models accept", "use a PNG, JPEG, GIF or WebP file"}
	}
	if len(data) > MaxBytes {
		return "", &Error{fmt.Sprintf("the image has %s, and at most %s are allowed", size(len(data)), size(MaxBytes)), "make it smaller, or save it as JPEG"}
	}
	width, height := sides(mime, data)
	switch {
	case width == 0 || height == 0:
		return "", &Error{"the image is damaged", "save it again"}
	case width > MaxSide || height > MaxSide:
		return "", &Error{fmt.Sprintf("the image has %d × %d pixels, and at most %d × %d are allowed", width, height, MaxSide, MaxSide), "make it smaller"}
	}
	return mime, nil
}

// kind returns the MIME type for the first bytes of an image, or "".
func kind(head string) string {
	switch {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(head, "RIFF") && len(head) >= 12 && head[8:12] == "WEBP":
		return "image/webp"
	}
	return ""
}

// ReadFile reads an image file.
func ReadFile(name string) (m transcript.Media, err error) {
	f, err := os.Open(name)
	if err != nil {
		return m, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return m, err
	}
	mime, err := Check(data)
	return transcript.Media{Name: Name(name), MIME: mime, Data: data}, err
}

// CheckAll checks the images of a message. The error is an *[Error].
func CheckAll(images []transcript.Media) error {
	total := 0
	for i, m := range images {
		mime, err := check(m.Data)
		if err == nil && m.MIME != "" && m.MIME != mime {
			err = &Error{"its type is " + mime + ", not " + m.MIME, "leave out the type"}
		}
		if err != nil {
			return &Error{fmt.Sprintf("image %d: %s", i+1, err.message), err.hint}
		}
		total += len(m.Data)
	}
	switch {
	case len(images) > MaxCount:
		return &Error{fmt.Sprintf("%d images, and a message can have at most %d", len(images), MaxCount), "send several messages"}
	case total > MaxTotal:
		return &Error{fmt.Sprintf("the images have %s, and a message can have at most %s", size(total), size(MaxTotal)), "make them smaller, or send several messages"}
	}
	return nil
}

// Input returns a text and images that were checked as the input of an agent. Empty text is left out.
func Input(text string, images []transcript.Media) []transcript.Part {
	var parts []transcript.Part
	if text != "" {
		parts = append(parts, transcript.Text{Text: text})
	}
	for _, m := range images {
		mime, _ := Check(m.Data)
		parts = append(parts, transcript.Media{Name: Name(m.Name), MIME: mime, Data: m.Data})
	}
	return parts
}

// FromInput is the reverse of [Input]. The error is an *[Error] for parts that a run in a daemon does
// not take.
func FromInput(parts []transcript.Part) (text string, images []transcript.Media, err error) {
	var lines []string
	for _, p := range parts {
		switch p := p.(type) {
		case transcript.Text:
			lines = append(lines, p.Text)
		case transcript.Media:
			images = append(images, p)
		default:
			return "", nil, &Error{"only text and images can be sent to a run in the daemon", "name a file in the text instead"}
		}
	}
	if err := CheckAll(images); err != nil {
		return "", nil, err
	}
	return strings.Join(lines, "\n"), images, nil
}

// sides returns the width and height of an image in pixels, or zeros.
func sides(mime string, b []byte) (width, height int) {
	little, big := binary.LittleEndian, binary.BigEndian
	switch {
	case mime == "image/png" && len(b) >= 24 && string(b[12:16]) == "IHDR":
		return int(big.Uint32(b[16:])), int(big.Uint32(b[20:]))
	case mime == "image/gif" && len(b) >= 10:
		return int(little.Uint16(b[6:])), int(little.Uint16(b[8:]))
	case mime == "image/jpeg":
		return jpegSides(b)
	case mime != "image/webp" || len(b) < 30:
		return 0, 0
	}
	switch string(b[12:16]) {
	case "VP8X":
		side := func(b []byte) int { return 1 + int(b[0]) + int(b[1])<<8 + int(b[2])<<16 }
		return side(b[24:]), side(b[27:])
	case "VP8 ":
		return int(little.Uint16(b[26:])) & 0x3fff, int(little.Uint16(b[28:])) & 0x3fff
	case "VP8L":
		v := little.Uint32(b[21:])
		return 1 + int(v&0x3fff), 1 + int(v>>14&0x3fff)
	}
	return 0, 0
}

// jpegSides reads the segments of a JPEG up to the one with the size.
func jpegSides(b []byte) (width, height int) {
	for at := 2; at+9 <= len(b) && b[at] == 0xff; {
		switch m := b[at+1]; {
		case m == 0xff: // padding
			at++
			continue
		case m >= 0xc0 && m <= 0xcf && m != 0xc4 && m != 0xc8 && m != 0xcc:
			return int(binary.BigEndian.Uint16(b[at+7:])), int(binary.BigEndian.Uint16(b[at+5:]))
		}
		at += 2 + int(binary.BigEndian.Uint16(b[at+2:]))
	}
	return 0, 0
}

// size returns a number of bytes for people.
func size(n int) string {
	if n < 1<<20 {
		return strconv.Itoa((n+1023)>>10) + " KiB"
	}
	return strconv.FormatFloat(math.Ceil(float64(n)/(1<<20)*100)/100, 'f', -1, 64) + " MiB"
}

// maxName is the maximum length of a name in a label.
const maxName = 60

// Name returns the file name of a path in a form that can be part of a label.
func Name(file string) string {
	if file == "" {
		return ""
	}
	name := strings.Map(func(r rune) rune {
		if r == '[' || r == ']' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, path.Base(strings.ReplaceAll(file, `\`, "/")))
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName/2]) + "…" + string(r[len(r)-maxName/2:])
	}
	return name
}

// Label returns the text that stands for an image of n bytes in a message: "[Image #1 plan.png 12
// KiB]". Number 0 is an image that the text of the message does not mention.
func Label(number int, name string, bytes int) string {
	head := "[Image "
	if number > 0 {
		head += "#" + strconv.Itoa(number) + " "
	}
	if name != "" {
		head += name + " "
	}
	return head + size(bytes) + "]"
}

// WithLabels returns the text of a message for people: each image that has no label in it gets a line
// at its end.
func WithLabels(text string, images []transcript.Media) string {
	lines := []string{text}
	if text == "" {
		lines = nil
	}
	for _, m := range Unlabelled(text, images) {
		lines = append(lines, labelOf(m))
	}
	return strings.Join(lines, "\n")
}

// Unlabelled returns the images that have no label in a text.
func Unlabelled(text string, images []transcript.Media) []transcript.Media {
	return slices.DeleteFunc(slices.Clone(images), func(m transcript.Media) bool {
		return strings.Contains(text, strings.TrimPrefix(labelOf(m), "[Image"))
	})
}

func labelOf(m transcript.Media) string { return Label(0, cmp.Or(m.Name, m.MIME), len(m.Data)) }

var labels = lazyregexp.Must(`\[Image #(\d+) [^\[\]\n]*\]`)

// Labels returns the labels in a text and their numbers.
func Labels(text string) (list []string, numbers []int) {
	for _, m := range labels().FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			list, numbers = append(list, m[0]), append(numbers, n)
		}
	}
	return list, numbers
}
