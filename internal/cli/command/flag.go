package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/term"
)

// Value is the variable that stores a flag's value.
type Value struct {
	Target      any
	text        string // the last value, as on the command line
	Placeholder string
	Group       string // heading in the help
	Choices     []string
	commas      bool // comma-separated list
	path        bool // made absolute
}

// String implements pflag.Value.
func (v *Value) String() string { return v.text }

// Type returns the placeholder for the value in the help; for a flag without a value it returns "".
func (v *Value) Type() string { return v.Placeholder }

// IsSwitch reports whether the flag takes no value.
func (v *Value) IsSwitch() bool {
	_, ok := v.Target.(*bool)
	return ok
}

// isName reports whether the flag names a session, an item or a workspace. If it does, an empty
// value, such as that of an unset shell variable, must not select another session, item or
// workspace.
func (v *Value) isName() bool {
	switch v.Placeholder {
	case "ID", "ID|NAME", "ITEM", "SESSION", "SLUG":
		_, ok := v.Target.(*string)
		return ok
	}
	return false
}

// Set implements pflag.Value.
func (v *Value) Set(s string) (err error) {
	words := []string{s}
	if v.commas {
		words = strings.Split(s, ",")
	}
	for _, word := range words {
		if len(v.Choices) > 0 && !slices.Contains(v.Choices, word) {
			return errors.New(unknownChoice(v.Choices, word))
		}
	}
	v.text = s
	switch to := v.Target.(type) {
	case *string:
		*to = s
		if v.path {
			*to, err = absolute(s)
		}
	case **string:
		*to = &s
	case *[]string:
		*to = append(*to, words...)
	case *bool:
		if *to, err = strconv.ParseBool(s); err != nil {
			err = fmt.Errorf("want true or false, not %q", s)
		}
	case *int:
		*to, err = parseNumber(strconv.Atoi, s)
	case **int:
		*to, err = pointer(parseNumber(strconv.Atoi, s))
	case *int64:
		*to, err = parseNumber(parseInt64, s)
	case **int64:
		*to, err = pointer(parseNumber(parseInt64, s))
	case *float64:
		*to, err = parseFloat(s)
	case **float64:
		*to, err = pointer(parseFloat(s))
	case *time.Duration:
		*to, err = time.ParseDuration(s)
	case **time.Duration:
		*to, err = pointer(time.ParseDuration(s))
	case optionalValue:
		err = to.SetText(s)
	default:
		err = fmt.Errorf("a flag cannot set a %T", to)
	}
	return err
}

func parseInt64(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

func parseNumber[T any](parse func(string) (T, error), s string) (T, error) {
	n, err := parse(s)
	if err != nil {
		err = fmt.Errorf("want a whole number, not %q", s)
	}
	return n, err
}

func parseFloat(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		err = fmt.Errorf("want a number, not %q", s)
	}
	return n, err
}

func pointer[T any](v T, err error) (*T, error) { return &v, err }

func absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(home, rest)
	}
	return filepath.Abs(path)
}

func unknownChoice(choices []string, got string) string {
	var list []string
	for _, c := range choices {
		list = append(list, strconv.Quote(c))
	}
	return "must be one of " + strings.Join(list, ", ") + " but got " + strconv.Quote(got)
}

// StoreFlags are the flags of commands that open a store.
type StoreFlags struct {
	Store string
}

func (c *StoreFlags) Declare(b *Builder) {
	b.Flag(&c.Store, "store", "", "URL", "The session store: sqlite:PATH, file:FOLDER, postgres://…, mysql://…, redis://…, s3://BUCKET/PREFIX or memory:. encrypted+URL encrypts it. Default: $HOLDFAST_STORE, else sqlite:$HOLDFAST_HOME/sessions.db.")
}

// StoreArg returns the --store flag that a suggested command needs, followed by a space, or "".
func StoreArg(url string) string {
	if url == "" {
		return ""
	}
	if strings.Contains(url, "@") {
		url = "URL" // the URL may contain a password
	}
	return "--store " + term.Quote(url) + " "
}

// JSONFlag is the --json flag of commands that print data.
type JSONFlag struct {
	JSON bool
}

func (c *JSONFlag) Declare(b *Builder) {
	b.Flag(&c.JSON, "json", "", "", "Print JSON, also for errors.")
}
