package skills

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// ToolName is the name of the tool.
const ToolName = "Skill"

// Options configure [New].
type Options struct {
	// Enter activates a skill before the model reads it. Its rules apply then, and its folder can
	// be read. An error prevents its use. Nil does nothing.
	Enter func(ctx context.Context, call *tool.Call, s *Skill) error
}

// Skills is the tool with which a model calls skills.
type Skills struct {
	set  *Set
	opts Options
	tool tool.Tool

	mu     sync.Mutex
	active map[string]bool // by name
	given  map[string]bool // by session, name and arguments
}

type input struct {
	Skill string `json:"skill" jsonschema:"The skill's name"`
	Args  string `json:"args,omitempty" jsonschema:"Arguments for the skill"`
}

const about = "Loads a skill: instructions for a kind of task, which you then follow. Call it first if the request matches one of these. " +
	"Skills:"

// New returns the tool for the skills that a model may call; nil if there are none.
func New(set *Set, o *Options) (*Skills, error) {
	s := &Skills{set: set, active: map[string]bool{}, given: map[string]bool{}}
	if o != nil {
		s.opts = *o
	}
	list := s.offered()
	if len(list) == 0 {
		return nil, nil
	}
	var err error
	s.tool, err = tool.New(tool.Spec{Name: ToolName, Description: about + describe(list)}, s.run, s.requests)
	return s, err
}

// Tools returns the tool, or nil for a nil Skills.
func (s *Skills) Tools() []tool.Tool {
	if s == nil {
		return nil
	}
	return []tool.Tool{s.tool}
}

// EndTurn forgets which skills were called in the turn that ends.
func (s *Skills) EndTurn() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.active)
	clear(s.given)
}

// Forget makes the tool return the skills of the turn again when they are called, because the
// transcript may no longer contain them.
func (s *Skills) Forget() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.given)
}

// calledThisTurn reports whether the turn has already called the skill with these arguments.
func (s *Skills) calledThisTurn(call *tool.Call, sk *Skill, args string) bool {
	key := call.Session + "\x00" + sk.Name + "\x00" + args
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.given[key]
	s.given[key] = true
	return was
}

func (s *Skills) offered() []*Skill {
	var list []*Skill
	for _, sk := range s.set.Skills {
		if sk.ModelInvocable {
			list = append(list, sk)
		}
	}
	return list
}

// describe lists names and descriptions within a limit. It lists all names, and as much of the
// descriptions as the limit allows.
func describe(list []*Skill) string {
	size := 0
	for _, sk := range list {
		size += len(sk.Name) + 4
	}
	each := max(0, maxListed-size) / len(list)
	var b strings.Builder
	for _, sk := range list {
		text := sk.Description
		if sk.WhenToUse != "" {
			text += " Use it when: " + sk.WhenToUse
		}
		if over := len(text) > each; over && size+descriptionsSize(list) > maxListed {
			text = truncate.String(text, each)
		}
		fmt.Fprintf(&b, "\n- %s: %s", sk.Name, text)
	}
	return b.String()
}

func descriptionsSize(list []*Skill) (n int) {
	for _, sk := range list {
		n += len(sk.Description) + len(sk.WhenToUse) + len(" Use it when: ")
	}
	return n
}

func (s *Skills) find(name string) (*Skill, error) {
	sk, ok := s.set.Find(strings.TrimPrefix(name, "/"))
	if ok && sk.ModelInvocable {
		return sk, nil
	}
	var names []string
	for _, o := range s.offered() {
		names = append(names, o.Name)
	}
	if ok {
		return nil, fmt.Errorf("only the user can use the skill %s", name)
	}
	return nil, fmt.Errorf("unknown skill %.80q; %s", name, spelling.Hint(name, names, "the skills are"))
}

// requests returns a read-only request: the call only reads a skill, and the calls that follow are
// checked as usual.
func (s *Skills) requests(_ *tool.Call, in input) ([]policy.Request, error) {
	sk, err := s.find(in.Skill)
	if err != nil {
		return nil, err
	}
	return []policy.Request{{Resource: sk.Name, ReadOnly: true}}, nil
}

func (s *Skills) run(ctx context.Context, call *tool.Call, in input) (tool.Result, error) {
	sk, err := s.find(in.Skill)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	if err := s.enter(ctx, call, sk); err != nil {
		return tool.Failure("the skill " + sk.Name + " cannot be used: " + err.Error()), nil // the model reads the error
	}
	if s.calledThisTurn(call, sk, in.Args) {
		return tool.Text("Skill already read."), nil
	}
	return tool.Text(sk.Text(in.Args)), nil
}

func (s *Skills) enter(ctx context.Context, call *tool.Call, sk *Skill) error {
	s.mu.Lock()
	deep := !s.active[sk.Name] && len(s.active) >= maxActive
	s.mu.Unlock()
	if deep {
		return fmt.Errorf("this turn already uses %d skills, the maximum", maxActive)
	}
	if s.opts.Enter != nil {
		if err := s.opts.Enter(ctx, call, sk); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[sk.Name] = true
	return nil
}

// Limit returns what the skill allows while it is active, or nil. The caller sets its turn and id.
func (sk *Skill) Limit() *policy.Limit {
	if len(sk.Allow) == 0 {
		return nil
	}
	return &policy.Limit{Name: "skill " + sk.Name, Allow: slices.Clone(sk.Allow), Origin: policy.Origin{File: sk.File, Line: sk.Line}}
}

// ReadRule returns the rule that allows reading the skill's folder, or "" for a command.
func (sk *Skill) ReadRule() string {
	if sk.Dir == "" {
		return ""
	}
	var b strings.Builder
	for _, r := range sk.Dir {
		if strings.ContainsRune(`\*?[]{}()`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return "Read(/" + b.String() + "/**)"
}

var (
	argument = lazyregexp.Must(`\$ARGUMENTS\[\d{1,2}\]|\$ARGUMENTS\b|\$\{CLAUDE_SKILL_DIR\}`)
	numbered = lazyregexp.Must(`\$ARGUMENTS\[\d{1,2}\]|\$ARGUMENTS\b|\$[1-9]\b`)
)

// Text returns the text that the model reads: the body, in which the arguments are inserted or to
// which they are appended, and the path of the skill's files.
func (sk *Skill) Text(args string) string {
	args = strings.TrimSpace(args)
	words := strings.Fields(args)
	used := false
	word := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	places := argument
	if sk.Command {
		places = numbered
	}
	body := places().ReplaceAllStringFunc(sk.body, func(m string) string {
		if m == "${CLAUDE_SKILL_DIR}" {
			return sk.Dir
		}
		used = true
		if m == "$ARGUMENTS" {
			return args
		}
		if n, ok := strings.CutPrefix(m, "$ARGUMENTS["); ok {
			i, _ := strconv.Atoi(strings.TrimSuffix(n, "]"))
			return word(i)
		}
		i, _ := strconv.Atoi(m[1:])
		return word(i - 1)
	})
	var b strings.Builder
	if sk.Command {
		fmt.Fprintf(&b, "The user called the command /%s.\n\n", sk.Name)
	} else {
		fmt.Fprintf(&b, "The skill %s. Its files are in %s; read the files that it mentions when you need them.\n\n", sk.Name, sk.Dir)
	}
	b.WriteString(body)
	if args != "" && !used {
		b.WriteString("\n\nARGUMENTS: " + args)
	}
	if lines := sk.Commands(body); len(lines) > 0 {
		b.WriteString("\n\n[First run these commands with Bash, exactly as written, and substitute their output for the placeholders:")
		for _, line := range lines {
			b.WriteString("\n" + line)
		}
		b.WriteString("]")
	}
	return b.String()
}

// inline matches a command in a text. The command is replaced by its output.
var inline = lazyregexp.Must("!`([^`\n]+)`")

// Commands returns the commands in a text, in the order of the text.
func (sk *Skill) Commands(body string) (lines []string) {
	for _, m := range inline().FindAllStringSubmatch(body, -1) {
		if line := strings.TrimSpace(m[1]); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Command splits a prompt of the user: "/commit now" becomes commit and now. ok is false if the
// prompt is not a command, such as a path.
func Command(prompt string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(prompt, "/")
	if !ok {
		return "", "", false
	}
	name = rest
	if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	return name, args, validName(name, true)
}

// Expand returns the skill that a user's prompt calls, and its text; nil if the prompt does not
// call a skill. The error is the reason why the skill cannot be used.
func (s *Set) Expand(prompt string) (*Skill, string, error) {
	name, args, ok := Command(prompt)
	if !ok {
		return nil, "", nil
	}
	sk, ok := s.UserSkill(name)
	switch {
	case ok && !sk.UserInvocable:
		return nil, "", fmt.Errorf("only the model can use the skill %s: user-invocable is false", name)
	case ok:
		return sk, sk.Text(args), nil
	}
	for _, p := range s.Problems {
		if at := skillName(p.File); at == name || p.Plugin != "" && p.Plugin+":"+at == name {
			return nil, "", fmt.Errorf("the skill %s cannot be used: %w", name, p)
		}
	}
	return nil, "", nil
}

// skillName returns the name of the skill in a file.
func skillName(path string) string {
	parts := strings.Split(strings.ReplaceAll(path, "\\", "/"), "/")
	last := parts[len(parts)-1]
	if last == skillFile && len(parts) > 1 {
		return parts[len(parts)-2]
	}
	return strings.TrimSuffix(last, ".md")
}
