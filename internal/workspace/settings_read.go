package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// maxSettings is the maximum size of workspace.json in bytes.
const maxSettings = 1 << 20

// decodeSettings parses a workspace.json. Every field must be known, unique and valid; missing
// fields get defaults. It does not check whether the folders exist. Errors are an [*Error] that
// wraps [ErrInvalid] or [ErrNewer]. Its Path has the position: "file:line:column".
func decodeSettings(file string, source []byte) (*Settings, error) {
	d := &decoder{file: file, source: source, offsets: map[string]int{}}
	root, err := jsontree.Parse(source)
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		return nil, d.errorAt(e.Offset, ErrInvalid, e.Hint, "%s", e.What)
	}
	s := &Settings{}
	if err := d.format(&root); err != nil {
		return nil, err
	}
	if err := d.settings(s, &root); err != nil {
		return nil, err
	}
	full := s.WithDefaults()
	if p := full.problem(); p != nil {
		return nil, d.errorAt(d.offset(p.field), ErrInvalid, p.hint, "%s: %s", p.field, p.what)
	}
	return &full, nil
}

// decoder builds settings from a JSON tree.
type decoder struct {
	file    string
	source  []byte
	offsets map[string]int // offsets of values in the text, by field
}

func (d *decoder) errorAt(at int, contract error, hint, format string, args ...any) error {
	before := d.source[:min(max(at, 0), len(d.source))]
	line, col := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')
	return &Error{
		Op: opReadSettings, Path: fmt.Sprintf("%s:%d:%d", d.file, line, col), Err: contract,
		Detail: fmt.Sprintf(format, args...), Advice: hint,
	}
}

// offset returns the offset of a field or, if the field is missing, of the nearest field that
// contains it.
func (d *decoder) offset(field string) int {
	for field != "" {
		if at, ok := d.offsets[field]; ok {
			return at
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return 0
}

// format checks the version first, because a newer one may have other fields.
func (d *decoder) format(root *jsontree.Node) error {
	n := root.Field("format")
	if n == root {
		return d.errorAt(root.At, ErrInvalid, fmt.Sprintf(`write "format": %d`, settingsFormat), "format: it is missing")
	}
	v, err := strconv.Atoi(n.Text)
	switch {
	case n.Kind != jsontree.Number || err != nil || v < 1:
		return d.errorAt(n.At, ErrInvalid, fmt.Sprintf("write %d", settingsFormat), "format: %s is not a version", n.Show())
	case v > settingsFormat:
		return d.errorAt(n.At, ErrNewer, "install a newer holdfast (holdfast version prints the installed one)", "it has format %d, this version of holdfast reads %d", v, settingsFormat)
	}
	return nil
}

type reader func(field string, n *jsontree.Node) error

func (d *decoder) settings(s *Settings, root *jsontree.Node) error {
	return d.object("", root, map[string]reader{
		"format":  func(string, *jsontree.Node) error { return nil },
		"id":      d.text(&s.ID),
		"slug":    d.text(&s.Slug),
		"created": d.time(&s.Created),
		"project": d.text(&s.Project),
		"image":   d.text(&s.Image),
		"agent":   d.agent(&s.Agent),
		"model":   d.text(&s.Model),
		"limits": d.fields(map[string]reader{
			"memory": d.bytes(&s.Limits.Memory),
			"cpus":   d.number(&s.Limits.CPUs),
			"pids":   d.whole(&s.Limits.PIDs),
			"disk":   d.bytes(&s.Limits.Disk),
		}),
		"network": d.fields(map[string]reader{
			"mode":    d.text(&s.Network.Mode),
			"domains": d.texts(&s.Network.Domains),
		}),
		"mounts":      d.mounts(&s.Mounts),
		"credentials": d.texts(&s.Credentials),
		"trust":       d.trust(&s.Trust),
	})
}

func (d *decoder) fields(known map[string]reader) reader {
	return func(field string, n *jsontree.Node) error { return d.object(field, n, known) }
}

func (d *decoder) object(field string, n *jsontree.Node, known map[string]reader) error {
	if n.Kind != jsontree.Object {
		return d.wrong(field, n, jsontree.Object)
	}
	for i := range n.Members {
		m := &n.Members[i]
		sub := m.Key
		if field != "" {
			sub = field + "." + m.Key
		}
		read, ok := known[m.Key]
		if !ok {
			return d.errorAt(m.At, ErrInvalid, spelling.Hint(m.Key, slices.Sorted(maps.Keys(known)), "the settings are"), "%s: unknown setting", sub)
		}
		d.offsets[sub] = m.Value.At
		if err := read(sub, &m.Value); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) wrong(field string, n *jsontree.Node, want jsontree.Kind) error {
	hint := ""
	if n.Kind == jsontree.Null {
		hint = "remove the field"
	}
	if field == "" {
		field = "settings"
	}
	return d.errorAt(n.At, ErrInvalid, hint, "%s: got %s, want %s", field, n.Show(), want)
}

func (d *decoder) text(to *string) reader {
	return func(field string, n *jsontree.Node) error {
		if n.Kind != jsontree.Text {
			return d.wrong(field, n, jsontree.Text)
		}
		*to = n.Text
		return nil
	}
}

func (d *decoder) texts(to *[]string) reader {
	return func(field string, n *jsontree.Node) error {
		return d.list(field, n, func(item string, n *jsontree.Node) error {
			var text string
			err := d.text(&text)(item, n)
			*to = append(*to, text)
			return err
		})
	}
}

func (d *decoder) list(field string, n *jsontree.Node, each reader) error {
	if n.Kind != jsontree.List {
		return d.wrong(field, n, jsontree.List)
	}
	for i := range n.Items {
		item := fmt.Sprintf("%s[%d]", field, i)
		d.offsets[item] = n.Items[i].At
		if err := each(item, &n.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) time(to *time.Time) reader {
	return func(field string, n *jsontree.Node) error {
		t, err := time.Parse(time.RFC3339, n.Text)
		if n.Kind != jsontree.Text || err != nil {
			return d.errorAt(n.At, ErrInvalid, "write it as 2006-01-02T15:04:05Z", "%s: %s is not a time", field, n.Show())
		}
		*to = t
		return nil
	}
}

func (d *decoder) number(to *float64) reader {
	return func(field string, n *jsontree.Node) error {
		v, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != jsontree.Number || err != nil {
			return d.wrong(field, n, jsontree.Number)
		}
		return d.setNonZero(field, n, v != 0, func() { *to = v })
	}
}

func (d *decoder) whole(to *int64) reader {
	return func(field string, n *jsontree.Node) error {
		v, err := strconv.ParseInt(n.Text, 10, 64)
		if n.Kind != jsontree.Number || err != nil {
			return d.wrong(field, n, "a whole number")
		}
		return d.setNonZero(field, n, v != 0, func() { *to = v })
	}
}

func (d *decoder) bytes(to *Bytes) reader {
	return func(field string, n *jsontree.Node) error {
		var v Bytes
		if err := json.Unmarshal(d.source[n.At:n.End], &v); err != nil {
			return d.errorAt(n.At, ErrInvalid, `write "512m" or "2g"`, "%s: %s is not a number of bytes", field, n.Show())
		}
		return d.setNonZero(field, n, v != 0, func() { *to = v })
	}
}

// setNonZero rejects a zero value, because a zero value means that the field is missing.
func (d *decoder) setNonZero(field string, n *jsontree.Node, ok bool, do func()) error {
	if !ok {
		return d.errorAt(n.At, ErrInvalid, "remove the field to get the default", "%s: it cannot be 0", field)
	}
	do()
	return nil
}

func (d *decoder) agent(to *AgentSpec) reader {
	return func(field string, n *jsontree.Node) error {
		if n.Kind == jsontree.Text {
			return d.text(&to.Kind)(field, n)
		}
		return d.object(field, n, map[string]reader{"kind": d.text(&to.Kind), "command": d.texts(&to.Command)})
	}
}

func (d *decoder) mounts(to *[]Mount) reader {
	return func(field string, n *jsontree.Node) error {
		return d.list(field, n, func(item string, n *jsontree.Node) error {
			var m Mount
			err := d.object(item, n, map[string]reader{
				"host": d.text(&m.Host), "at": d.text(&m.Target),
				"readonly": func(field string, n *jsontree.Node) error {
					if n.Kind != jsontree.Bool {
						return d.wrong(field, n, jsontree.Bool)
					}
					m.ReadOnly = n.Text == "true"
					return nil
				},
			})
			*to = append(*to, m)
			return err
		})
	}
}

func (d *decoder) trust(to *Trust) reader {
	return func(field string, n *jsontree.Node) error {
		if n.Kind != jsontree.Text {
			return d.wrong(field, n, jsontree.Text)
		}
		t, err := parseTrust(n.Text)
		*to = t
		if e, ok := errors.AsType[*Error](err); ok {
			return d.errorAt(n.At, ErrInvalid, e.Advice, "%s: %s", field, e.Detail)
		}
		return nil
	}
}
