package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// Action is what a command does. A command with flags or arguments also has a method
// Declare(*Builder); one with a longer help text has a method Help() string.
type Action interface {
	Run(ctx context.Context, p *Program) error
}

// Command is a command in the command tree.
type Command = cobra.Command

type declarer interface{ Declare(b *Builder) }

// Command returns the cobra command that runs c.
func (p *Program) Command(c Action, name, short string, aliases ...string) *Command {
	cmd := newCommand(name, short, aliases)
	b := &Builder{p: p, cmd: cmd, set: cmd.Flags()}
	if f, ok := c.(declarer); ok {
		f.Declare(b)
	}
	if h, ok := c.(interface{ Help() string }); ok {
		cmd.Long = h.Help()
	}
	cmd.DisableFlagParsing = b.Verbatim
	cmd.RunE = func(cmd *Command, args []string) error {
		switch err := b.bind(args); {
		case err == nil:
		case b.ReplaceError != nil && !errors.Is(err, pflag.ErrHelp):
			return b.ReplaceError(err)
		default:
			return err
		}
		return c.Run(cmd.Context(), p)
	}
	if p.Candidates != nil {
		b.complete()
	}
	return cmd
}

// Group returns a command that only has subcommands.
func (p *Program) Group(name, short string, commands ...*Command) *Command {
	cmd := newCommand(name, short, nil)
	AddCommands(cmd, commands...)
	cmd.RunE = func(cmd *Command, args []string) error {
		if len(args) > 0 {
			return Unexpected(cmd, args[0])
		}
		var names []string
		for _, c := range Subcommands(cmd) {
			names = append(names, strconv.Quote(c.Name()))
		}
		return usageError(cmd, "expected one of "+strings.Join(names, ", "))
	}
	return cmd
}

// Hide hides a command from help, completion and the man page, because a visible command does the
// same.
func Hide(cmd *Command) *Command {
	cmd.Hidden = true
	return cmd
}

// AddCommands adds commands and keeps their order: cobra would sort them by name.
func AddCommands(cmd *Command, commands ...*Command) {
	cmd.AddCommand(commands...)
	var names []string
	for _, c := range commands {
		names = append(names, c.Name())
	}
	NameCommands(cmd, names)
}

// NameCommands says which subcommands a command has, in the order of the help. Not all of them need
// to be built.
func NameCommands(cmd *Command, names []string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations["commands"] = strings.Join(names, " ")
}

// Subcommands returns the subcommands in the order of the help.
func Subcommands(cmd *Command) (list []*Command) {
	for _, name := range commandNames(cmd) {
		for _, c := range cmd.Commands() {
			if c.Name() == name && !c.Hidden {
				list = append(list, c)
			}
		}
	}
	return list
}

func newCommand(name, short string, aliases []string) *Command {
	cmd := &Command{
		Use: name, Short: short, Aliases: aliases, Args: cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true, DisableSuggestions: true, SilenceErrors: true, SilenceUsage: true,
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolP("help", "h", false, "Print this help.")
	return cmd
}

// Builder declares the flags and arguments of one command.
type Builder struct {
	p   *Program
	cmd *Command
	set *pflag.FlagSet

	Heading  string // the heading in the help for the flags that are declared next
	Verbatim bool   // true if words after the named arguments are not flags of this command

	ReplaceError func(error) error // if not nil, replaces an error about the command line

	args       []argument
	exclusives [][]string
	required   []string
}

type argument struct {
	name     string
	to       any // *string or *[]string
	required bool
	choices  []string
}

// Include declares the flags and arguments of a part of a command.
func (b *Builder) Include(part declarer) {
	group := b.Heading
	part.Declare(b)
	b.Heading = group
}

// Flag declares a flag. The parameter to points to the variable for its value: the variable's type
// decides how the value is parsed, and its current value is the default. A []string collects one
// value per use of the flag.
func (b *Builder) Flag(to any, name, short, placeholder, help string, choices ...string) {
	v := &Value{Target: to, Placeholder: placeholder, Group: b.Heading, Choices: choices}
	f := b.set.VarPF(v, name, short, help)
	if v.IsSwitch() {
		f.NoOptDefVal = "true"
	} else {
		v.Placeholder = cmp.Or(placeholder, "TEXT")
	}
	if o, ok := to.(optionalValue); ok {
		f.NoOptDefVal = o.WithoutValue()
	}
}

// optionalValue is a flag whose value can be omitted.
type optionalValue interface {
	SetText(value string) error
	WithoutValue() string // the value for SetText if the flag is used without one
}

// Words declares a repeatable flag with comma-separated values.
func (b *Builder) Words(to *[]string, name, short, placeholder, help string, choices ...string) {
	b.Flag(to, name, short, placeholder, help, choices...)
	b.value(name).commas = true
}

// Path declares a flag for a file path; the value becomes absolute.
func (b *Builder) Path(to *string, name, short, placeholder, help string) {
	b.Flag(to, name, short, placeholder, help)
	b.value(name).path = true
}

// Alias declares another name of a flag. The help does not show this name.
func (b *Builder) Alias(name, other string) {
	b.set.AddFlag(&pflag.Flag{Name: other, Usage: b.set.Lookup(name).Usage, Value: b.value(name), Hidden: true})
}

// HideAll hides all flags from the help, because another command shows them.
func (b *Builder) HideAll() {
	b.set.VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "help" })
}

// HideExcept hides all flags but some from the help, because another command shows them.
func (b *Builder) HideExcept(names ...string) {
	b.set.VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "help" && !slices.Contains(names, f.Name) })
}

// Hide hides flags from the help, because a visible flag does the same.
func (b *Builder) Hide(names ...string) {
	for _, name := range names {
		b.set.Lookup(name).Hidden = true
	}
}

func (b *Builder) value(name string) *Value { return b.set.Lookup(name).Value.(*Value) }

// Exclusive declares flags that cannot be used together.
func (b *Builder) Exclusive(names ...string) {
	b.exclusives = append(b.exclusives, names)
	b.annotate("exclusive", strings.Join(names, " "))
}

// Require declares a required flag.
func (b *Builder) Require(name string) {
	b.required = append(b.required, name)
	b.annotate("required", name)
}

// annotate adds a line to an annotation of the command.
func (b *Builder) annotate(key, line string) {
	if b.cmd.Annotations == nil {
		b.cmd.Annotations = map[string]string{}
	}
	b.cmd.Annotations[key] = strings.TrimPrefix(b.cmd.Annotations[key]+"\n"+line, "\n")
}

// Exclusives returns the groups of flags that cannot be used together.
func Exclusives(cmd *Command) (groups [][]string) {
	for line := range strings.Lines(cmd.Annotations["exclusive"]) {
		groups = append(groups, strings.Fields(line))
	}
	return groups
}

// Required reports whether a flag is required.
func Required(cmd *Command, flag string) bool {
	return slices.Contains(strings.Fields(cmd.Annotations["required"]), flag)
}

// Arg declares a required argument. It is read into a *string, or into a *[]string for all
// remaining words.
func (b *Builder) Arg(to any, name, help string, choices ...string) {
	b.addArgument(argument{name, to, true, choices}, help)
}

// Optional declares an optional argument.
func (b *Builder) Optional(to any, name, help string, choices ...string) {
	b.addArgument(argument{name, to, false, choices}, help)
}

func (b *Builder) addArgument(a argument, help string) {
	b.args = append(b.args, a)
	word := "<" + a.name + ">"
	if _, list := a.to.(*[]string); list {
		word += " ..."
	}
	if !a.required {
		word = "[" + word + "]"
	}
	b.cmd.Use += " " + word
	b.annotate(word, help)
}

// Arguments returns the arguments of a command's usage line with their help.
func Arguments(cmd *Command) (list [][2]string) {
	rest := strings.TrimPrefix(cmd.Use, cmd.Name())
	for word := range strings.SplitSeq(rest, " ") {
		if word = strings.TrimSuffix(word, "]"); word == "..." || word == "" {
			continue
		}
		for _, full := range []string{word, word + "]", word + " ...", word + " ...]"} {
			if help, ok := cmd.Annotations[full]; ok {
				list = append(list, [2]string{full, help})
			}
		}
	}
	return list
}

// bind checks the given flags and reads the arguments.
func (b *Builder) bind(args []string) error {
	if b.Verbatim {
		var err error
		if args, err = b.parseVerbatim(args); err != nil {
			return err
		}
	}
	if err := b.checkFlags(); err != nil {
		return err
	}
	for _, a := range b.args {
		if len(args) == 0 {
			if a.required {
				return usageError(b.cmd, fmt.Sprintf(`expected "<%s>"`, a.name))
			}
			continue
		}
		switch to := a.to.(type) {
		case *[]string:
			*to, args = args, nil
		case *string:
			if len(a.choices) > 0 && !slices.Contains(a.choices, args[0]) {
				return usageError(b.cmd, "<"+a.name+"> "+unknownChoice(a.choices, args[0]))
			}
			*to, args = args[0], args[1:]
		}
	}
	if len(args) > 0 {
		return Unexpected(b.cmd, args[0])
	}
	return nil
}

// parseVerbatim parses the flags of a command whose last argument takes the rest of the line
// unchanged. The rest begins after "--", or with the first word after the other arguments that is
// not a flag of this command.
func (b *Builder) parseVerbatim(args []string) (words []string, err error) {
	for len(args) > 0 {
		last := len(words) == len(b.args)-1
		n, known := b.flagLength(args)
		switch {
		case args[0] == "--":
			return append(words, args[1:]...), b.helpWanted()
		case n > 0 && (known || !last):
			if err := b.set.Parse(args[:n]); err != nil {
				return nil, FlagError(b.cmd, err)
			}
			args = args[n:]
		case last:
			return append(words, args...), b.helpWanted()
		default:
			words, args = append(words, args[0]), args[1:]
		}
	}
	return words, b.helpWanted()
}

// helpWanted returns the error that makes cobra print the help if args contain --help.
func (b *Builder) helpWanted() error {
	if help, _ := b.set.GetBool("help"); help {
		return pflag.ErrHelp
	}
	return nil
}

// flagLength returns the number of words of the flag at the start of args, or 0 if there is none.
func (b *Builder) flagLength(args []string) (n int, known bool) {
	word := args[0]
	if len(word) < 2 || word[0] != '-' || word == "--" {
		return 0, false
	}
	name, _, inOne := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	f := b.set.Lookup(name)
	if word[1] != '-' {
		f, inOne = b.set.ShorthandLookup(word[1:2]), len(word) > 2
	}
	if f == nil || inOne || f.NoOptDefVal != "" {
		return 1, f != nil
	}
	return min(2, len(args)), true
}

func (b *Builder) checkFlags() error {
	for _, names := range b.exclusives {
		given := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !b.set.Changed(n) })
		if len(given) > 1 {
			return usageError(b.cmd, fmt.Sprintf("--%s and --%s cannot be used together", given[0], given[1]))
		}
	}
	var missing []string
	for _, name := range b.required {
		if f := b.set.Lookup(name); !f.Changed {
			missing = append(missing, "--"+name+"="+f.Value.Type())
		}
	}
	if len(missing) > 0 {
		return usageError(b.cmd, "missing required flags: "+strings.Join(missing, ", "))
	}
	var err error
	b.set.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*Value); ok && v.isName() && v.text == "" && err == nil {
			err = outcome.Invalid("--"+f.Name+" must not be empty", "give it a value, or omit the flag")
		}
	})
	return err
}

// usageError is an error about the command line of cmd.
func usageError(cmd *Command, msg string) error {
	return outcome.Invalid(msg, cmd.CommandPath()+" --help")
}

// Unexpected returns the error for an argument that a command does not take.
func Unexpected(cmd *Command, arg string) error {
	msg := "unexpected argument " + arg
	if cmd.Name() == "run" && cmd.Parent() == cmd.Root() {
		return outcome.Invalid(msg, `put the prompt in quotes: holdfast run "what to do"`)
	}
	names := commandNames(cmd)
	for _, c := range Subcommands(cmd) {
		names = append(names, c.Aliases...)
	}
	if first := cmd.Flags().Arg(0); cmd == cmd.Root() && len(names) > 0 && first != arg { // a prompt without quotes, or a misspelled command
		if near := didYouMean(first, "", names); near != "" {
			return usageError(cmd, "unexpected argument "+first+near)
		}
		return outcome.Invalid(msg, `put the prompt in quotes: holdfast "what to do"`)
	}
	return usageError(cmd, msg+didYouMean(arg, "", names))
}

// commandNames returns the names of the subcommands, also of those that were not built.
func commandNames(cmd *Command) []string { return strings.Fields(cmd.Annotations["commands"]) }

// FlagError describes what is wrong with a flag.
func FlagError(cmd *Command, err error) error {
	msg := err.Error()
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		msg = "unknown flag -" + e.GetSpecifiedName()
		if e.GetSpecifiedShortnames() == "" {
			msg = "unknown flag --" + e.GetSpecifiedName() + didYouMean(e.GetSpecifiedName(), "--", names)
		}
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		msg = "--" + e.GetFlag().Name + " needs a value"
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		msg = "--" + e.GetFlag().Name + " " + e.Unwrap().Error()
		if !strings.Contains(msg, " must be one of ") {
			msg = "--" + e.GetFlag().Name + ": " + e.Unwrap().Error()
		}
	}
	return usageError(cmd, msg)
}

// didYouMean suggests the known word closest to the given one, or returns "".
func didYouMean(typed, prefix string, words []string) string {
	near := spelling.Nearest(typed, words)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", prefix+near)
}
