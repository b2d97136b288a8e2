package credentials

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// iniFile is a file of sections with settings, such as ~/.aws/config.
type iniFile map[string]map[string]string

// readINI reads a file. If the file is missing, the error is fs.ErrNotExist.
func readINI(path string) (iniFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseINI(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parseINI parses sections. Names of settings are converted to lower case. Indented lines below a
// setting without a value belong to it and are ignored.
func parseINI(text []byte) (iniFile, error) {
	f := iniFile{}
	var section map[string]string
	nested, n := false, 0
	for line := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\ufeff")))) {
		n++
		indented := line[0] == ' ' || line[0] == '\t'
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			end := strings.IndexByte(line, ']')
			if end < 0 {
				return nil, fmt.Errorf("line %d: a section without ]", n)
			}
			name := strings.Join(strings.Fields(line[1:end]), " ")
			if f[name] == nil {
				f[name] = map[string]string{}
			}
			section, nested = f[name], false
			continue
		case nested && indented:
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || section == nil {
			return nil, fmt.Errorf("line %d is not a setting of a section", n)
		}
		value = plainValue(value)
		section[strings.ToLower(strings.TrimSpace(name))] = value
		nested = value == ""
	}
	return f, nil
}

// plainValue returns a value without its comment and quotation marks.
func plainValue(v string) string {
	for i := 1; i < len(v); i++ {
		if (v[i] == '#' || v[i] == ';') && (v[i-1] == ' ' || v[i-1] == '\t') {
			v = v[:i]
			break
		}
	}
	v = strings.TrimSpace(v)
	if n := len(v); n > 1 && v[0] == v[n-1] && (v[0] == '"' || v[0] == '\'') && strings.IndexByte(v[1:n-1], v[0]) < 0 {
		v = v[1 : n-1]
	}
	return v
}
