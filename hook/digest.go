package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// digestInput is the input of a hook's digest. Its JSON is canonical: the fields are in this order
// and header names are sorted. The position of the hook is not part of the input, so a hook keeps
// its digest when its text is moved.
type digestInput struct {
	Event     Event             `json:"event"`
	Dialect   string            `json:"dialect"`
	Type      string            `json:"type"`
	Matcher   string            `json:"matcher"`
	If        string            `json:"if"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Vars      map[string]string `json:"vars,omitempty"` // paths below the project are relative to it
	Env       []string          `json:"env"`
	Sandbox   string            `json:"access"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	Timeout   int64             `json:"timeout_ns"`
	OnFailure string            `json:"on_failure"`
	Async     bool              `json:"async"`
	Once      bool              `json:"once"`
	Files     []digestFile      `json:"files"`
}

type digestFile struct {
	Name   string `json:"name"` // name relative to the project, with slashes
	Digest string `json:"sha256"`
}

// ComputeDigest sets Digest; for a function it does nothing. The digest covers the fields that
// determine what the hook does. It also covers the content of the files below project that the
// command line names, and of the files below project that those files run. ComputeDigest reads
// these files.
func (d *Definition) ComputeDigest(project string) error {
	if d.Func != nil {
		return nil
	}
	s := digestInput{
		Event: d.Event, Dialect: d.Dialect, Type: d.Type(), Matcher: d.Matcher, If: d.If, Command: d.Command, Args: d.Args, Env: d.Env,
		Sandbox: d.Sandbox, URL: d.URL, Headers: d.Headers, Timeout: int64(d.Timeout), OnFailure: d.OnFailure, Async: d.Async, Once: d.Once,
	}
	if s.Dialect == "" {
		s.Dialect = dialectClaude
	}
	if s.Sandbox == "" && s.Type == typeCommand {
		s.Sandbox = sandboxRead
	}
	for name, value := range d.Vars {
		if s.Vars == nil {
			s.Vars = map[string]string{}
		}
		s.Vars[name] = value
		if inside, ok := relPath(value, filepath.Clean(project), filepath.Clean(project)); ok && project != "" {
			s.Vars[name] = inside
		}
	}
	var err error
	if s.Files, err = digestFiles(d.fileWords(project), project); err != nil {
		return &Error{Field: d.Command, What: err.Error(), Advice: "make the file readable, or remove it from the hook's command"}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	d.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}

// digestFiles returns the digests of the regular files below the project that the words name, and
// of the files below the project that those files run.
func digestFiles(words []string, project string) ([]digestFile, error) {
	root := filepath.Clean(project)
	if led, err := filepath.EvalSymlinks(root); err == nil {
		root = led
	}
	files := map[string]string{}
	if project == "" {
		words = nil
	}
	for step := 0; len(words) > 0 && step <= maxReferenceDepth; step++ {
		var next []string
		for _, word := range words {
			name, ok := relPath(word, filepath.Clean(project), root)
			if _, done := files[name]; !ok || done || len(files) >= maxDigestFiles {
				continue
			}
			file := filepath.Join(root, filepath.FromSlash(name))
			info, err := os.Stat(file)
			switch {
			case errors.Is(err, fs.ErrPermission):
				return nil, fmt.Errorf("the file %s cannot be read: %w", name, err)
			case err != nil || !info.Mode().IsRegular():
				continue
			}
			if files[name], err = fileDigest(file); err != nil {
				return nil, fmt.Errorf("the file %s cannot be read: %w", name, err)
			}
			next = append(next, candidateFiles(root, name)...)
		}
		words = next
	}
	out := make([]digestFile, 0, len(files))
	for name, digest := range files {
		out = append(out, digestFile{Name: name, Digest: digest})
	}
	slices.SortFunc(out, func(a, b digestFile) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// relPath returns the path of a word's file relative to the project.
func relPath(word, project, root string) (string, bool) {
	if word == "" || strings.ContainsRune(word, 0) {
		return "", false
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(root, word)
	}
	for _, dir := range [...]string{root, project} {
		name, err := filepath.Rel(dir, filepath.Clean(word))
		if err == nil && filepath.IsLocal(name) && name != "." {
			return filepath.ToSlash(name), true
		}
	}
	return "", false
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fileWords lists the words of the command that may be file names: the words found by parsing the
// line, and every other word except the files that the line only writes to. If a word is listed
// unnecessarily, the only effect is that trust is requested more often.
func (d *Definition) fileWords(project string) []string {
	if d.Command == "" {
		return nil
	}
	words := append([]string{d.Command}, d.Args...)
	for i := range words {
		words[i] = substitute(words[i], d.Vars)
	}
	if d.Args == nil {
		words = lineWords(words[0], project)
		r := shellparse.Parse(d.Command, &shellparse.Options{Dir: project, Vars: d.withVars(map[string]string{"CLAUDE_PROJECT_DIR": project})})
		for i := range r.Commands {
			c := &r.Commands[i]
			if words = append(words, c.Program); c.Dir != "" && !filepath.IsAbs(c.Program) {
				words = append(words, filepath.Join(c.Dir, c.Program))
			}
			for _, p := range c.Paths {
				words = append(words, p.Path)
			}
		}
	}
	for i := range words {
		words = append(words, pieces(words[i])...)
	}
	if d.Args == nil {
		out := writtenFiles(d.Command)
		words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(out, path.Base(w)) })
	}
	return append(words, implied(words, project)...)
}

// redirected is the pattern for the target of a redirection.
var redirected = lazyregexp.Must(`(?:>>?\|?|\btee[ \t]+-a)[ \t]*("[^"\n]*"|'[^'\n]*'|[^\s;&|<>()]+)`)

// writtenFiles lists the base names of files that a line only writes to. The digest does not cover
// them: a hook that appends to a log file is still the same hook afterwards.
func writtenFiles(line string) []string {
	var names []string
	for _, m := range redirected().FindAllStringSubmatch(line, -1) {
		if name := path.Base(strings.Trim(m[1], `"'`)); strings.Count(line, name) == 1 {
			names = append(names, name)
		}
	}
	return names
}

// wordBreak matches the separators in a line that is split without parsing.
var wordBreak = lazyregexp.Must("[\\s;&|<>()`]+")

// lineWords splits a line into words without their quotes. Quoted words are returned as a whole and
// also in pieces.
func lineWords(line, project string) []string {
	bare := strings.NewReplacer(`\ `, " ", `"`, "", "'", "", `\`, "").Replace
	words := wordBreak().Split(bare(line), -1)
	var b strings.Builder
	var quote rune
	for _, r := range line + " " {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 && wordBreak().MatchString(string(r)) && !strings.HasSuffix(b.String(), `\`):
			words = append(words, b.String(), bare(b.String()))
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	return words
}

// expansion matches a folder prefix of a path: $NAME, ${NAME:-x}, $(git rev-parse --show-toplevel)
// and similar.
var expansion = lazyregexp.Must(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^}]*\}|\([^)]*\))|^~[^/]*|^.*\)`)

// pieces returns the parts of a word that may be paths: the text after an option's "=", the text
// after leading slashes, and the text after a variable, which is assumed to be the project.
func pieces(word string) []string {
	var out []string
	if _, value, ok := strings.Cut(word, "="); ok {
		out = append(append(out, value), pieces(value)...)
	}
	if rest := strings.TrimLeft(word, "/"); rest != word {
		out = append(out, rest) // the word may be the end of a path whose first part was split off
	}
	if at := expansion().FindAllStringIndex(word, -1); at != nil {
		out = append(out, strings.TrimLeft(word[at[len(at)-1][1]:], "/"))
	}
	return out
}
