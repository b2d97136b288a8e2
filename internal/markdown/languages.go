package markdown

import "strings"

// language describes how the code of a language is read. All signs are literal.
type language struct {
	line      []string    // starts of comments up to the end of the line
	blocks    [][2]string // starts and ends of longer comments
	quotes    string      // signs around strings of one line
	long      [][2]string // starts and ends of strings of several lines; they come before quotes
	raw       string      // quotes around strings without escapes
	keywords  string
	soft      string // those keywords that are names unless another word follows, each between spaces
	inWord    string // signs that words contain besides letters and digits
	keySign   byte   // the sign after a key
	hash      bool   // a # starts a comment anywhere
	prefixes  bool   // a letter can stand before a quote
	lifetimes bool   // a single ' is no string
	variables bool   // $name
	regexps   bool   // /regular expressions/
	commands  bool   // keywords start a command
	values    bool   // keywords, numbers and strings are complete values
	fold      bool   // keywords in any case
	markup    bool   // strings and words only in tags
	diff      bool
}

var slashes, stars, triple = []string{"//"}, [][2]string{{"/*", "*/"}}, [][2]string{{`"""`, `"""`}, {"'''", "'''"}}

const (
	cKeywords = "auto bool break case char const continue default do double else enum extern false float for goto if include " +
		"define ifdef ifndef endif inline int long NULL return short signed sizeof static struct switch true typedef union " +
		"unsigned void volatile while size_t uint8_t uint32_t uint64_t"
	cppKeywords = " catch class constexpr delete explicit final friend namespace new nullptr operator override private protected " +
		"public template this throw try typename using virtual"
	javaKeywords = "abstract assert boolean break byte case catch char class const continue default do double else enum extends " +
		"false final finally float for if implements import instanceof int interface long native new null package private " +
		"protected public record return sealed short static super switch synchronized this throw throws transient true try " +
		"var void volatile while"
	jsKeywords = "abstract as async await boolean break case catch class const continue debugger declare default delete do " +
		"else enum export extends false finally for from function get if implements import in instanceof interface keyof let " +
		"namespace never new null of private protected public readonly return set static super switch this throw " +
		"true try type typeof undefined unknown var void while with yield"
	goKeywords = "any append bool break byte case chan const continue default defer else error fallthrough false float64 for " +
		"func go goto if import int int64 interface len make map new nil package panic range return rune select string struct " +
		"switch true type uint64 var"
	pyKeywords = "and as assert async await break case class continue def del elif else except False finally for from global if " +
		"import in is lambda match None nonlocal not or pass raise return self True try while with yield"
	rustKeywords = "as async await bool break const continue crate dyn else enum extern false fn for i32 i64 if impl in let " +
		"loop match mod move mut pub ref return self Self static str String struct super trait true type u32 u64 u8 " +
		"unsafe use usize where while Some None Ok Err"
	shKeywords = "case do done elif else esac export fi for function if local readonly return select set shift then time " +
		"trap unset until while cd echo exit source sudo"
	sqlKeywords = "add all alter and as asc begin between by case check column commit constraint create cross database default " +
		"delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key " +
		"left like limit not null offset on or order outer primary references returning right rollback select set table then " +
		"transaction union unique update using values view when where with"
)

// languageOf returns the language with this name, or nil. The table is made at each call, so the start of the program
// pays nothing for it.
func languageOf(name string) *language {
	switch strings.ToLower(strings.Trim(name, "{}.")) {
	case "go", "golang":
		return &language{line: slashes, blocks: stars, quotes: `"'`, long: [][2]string{{"`", "`"}}, raw: "`", keywords: goKeywords}
	case "py", "python", "python3", "py3", "pyi":
		return &language{line: []string{"#"}, hash: true, quotes: `"'`, long: triple, keywords: pyKeywords, soft: " match case ", prefixes: true}
	case "js", "javascript", "jsx", "mjs", "ts", "typescript", "tsx", "node":
		return &language{line: slashes, blocks: stars, quotes: `"'`, long: [][2]string{{"`", "`"}}, keywords: jsKeywords,
			soft: " abstract as declare from get namespace of set type ", inWord: "$", regexps: true}
	case "rs", "rust":
		return &language{line: slashes, blocks: stars, quotes: "'", long: [][2]string{{`br#"`, `"#`}, {`r#"`, `"#`}, {`"`, `"`}}, keywords: rustKeywords, lifetimes: true}
	case "c", "h", "objc":
		return &language{line: slashes, blocks: stars, quotes: `"'`, keywords: cKeywords}
	case "cpp", "c++", "cc", "cxx", "hpp":
		return &language{line: slashes, blocks: stars, quotes: `"'`, keywords: cKeywords + cppKeywords}
	case "java":
		return &language{line: slashes, blocks: stars, quotes: `"'`, long: triple[:1], keywords: javaKeywords, soft: " record sealed "}
	case "kotlin", "kt", "scala", "cs", "csharp", "c#":
		return &language{line: slashes, blocks: stars, quotes: `"'`, long: triple[:1], soft: " record sealed object when ",
			keywords: javaKeywords + " as async await bool def fun in internal is namespace object override string struct trait using val when with"}
	case "sh", "bash", "zsh", "shell", "console", "fish", "dockerfile", "makefile", "make":
		return &language{line: []string{"#"}, long: [][2]string{{`"`, `"`}}, quotes: "'", raw: "'", keywords: shKeywords, inWord: "-", variables: true, commands: true}
	case "json", "jsonc", "json5", "jsonl":
		return &language{line: slashes, quotes: `"`, keywords: "true false null", keySign: ':'}
	case "yaml", "yml":
		return &language{line: []string{"#"}, quotes: `"'`, keywords: "true false null yes no", inWord: "-", keySign: ':', values: true}
	case "toml", "ini", "conf", "properties":
		return &language{line: []string{"#", ";"}, long: triple, quotes: `"'`, keywords: "true false", inWord: "-.", keySign: '='}
	case "sql", "postgresql", "mysql", "sqlite":
		return &language{line: []string{"--"}, blocks: stars, long: [][2]string{{"'", "'"}, {`"`, `"`}}, raw: `'"`, keywords: sqlKeywords, fold: true}
	case "html", "xml", "svg", "vue":
		return &language{blocks: [][2]string{{"<!--", "-->"}}, quotes: `"'`, inWord: "-:", keySign: '=', markup: true}
	case "css", "scss", "less":
		return &language{blocks: stars, quotes: `"'`, inWord: "-", keySign: ':', keywords: "@media @import @font-face @keyframes @supports"}
	case "diff", "patch":
		return &language{diff: true}
	}
	return nil
}
