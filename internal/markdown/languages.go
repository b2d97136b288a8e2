package markdown

import "strings"

// language describes how the code of a language is read. All signs are literal.
type language struct {
	line      []string    // starts of comments up to the end of the line
	blocks    [][2]string // starts and ends of longer comments
	quotes    string      // signs around strings of one line
	long      []string    // signs around strings of several lines; they come before quotes
	keywords  string
	inWord    string // signs that words contain besides letters and digits
	keySign   byte   // the sign after a key
	hash      bool   // a # starts a comment anywhere
	prefixes  bool   // a letter can stand before a quote
	lifetimes bool   // a single ' is no string
	variables bool   // $name
	fold      bool   // keywords in any case
	markup    bool   // strings and words only in tags
	diff      bool
}

var slashes, stars = []string{"//"}, [][2]string{{"/*", "*/"}}

const (
	cKeywords = "auto bool break case char class const constexpr continue default delete do double else enum explicit extern " +
		"false final float for friend goto if include define ifdef ifndef endif inline int long namespace new nullptr NULL " +
		"operator override private protected public return short signed sizeof static struct switch template this throw true " +
		"try catch typedef typename union unsigned using virtual void volatile while size_t uint8_t uint32_t uint64_t"
	javaKeywords = " abstract assert boolean byte extends finally implements import instanceof interface native null package " +
		"record sealed super synchronized throws transient var val fun when object"
	jsKeywords = "abstract any as async await boolean break case catch class const continue debugger declare default delete do " +
		"else enum export extends false finally for from function get if implements import in instanceof interface keyof let " +
		"namespace never new null number of private protected public readonly return set static string super switch this throw " +
		"true try type typeof undefined unknown var void while with yield"
	goKeywords = "any append bool break byte case chan const continue default defer else error fallthrough false float64 for " +
		"func go goto if import int int64 interface len make map new nil package panic range return rune select string struct " +
		"switch true type uint64 var"
	pyKeywords = "and as assert async await break case class continue def del elif else except False finally for from global if " +
		"import in is lambda match None nonlocal not or pass raise return self True try while with yield"
	rustKeywords = "as async await bool box break const continue crate dyn else enum extern false fn for i32 i64 if impl in let " +
		"loop match mod move mut pub ref return self Self static str String struct super trait true type u32 u64 u8 union " +
		"unsafe use usize where while Some None Ok Err"
	shKeywords = "case do done elif else esac export fi for function if in local readonly return select set shift then time " +
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
		return &language{line: slashes, blocks: stars, quotes: `"'`, long: []string{"`"}, keywords: goKeywords}
	case "py", "python", "python3", "py3", "pyi":
		return &language{line: []string{"#"}, hash: true, quotes: `"'`, long: []string{`"""`, `'''`}, keywords: pyKeywords, prefixes: true}
	case "js", "javascript", "jsx", "mjs", "ts", "typescript", "tsx", "node":
		return &language{line: slashes, blocks: stars, quotes: `"'`, long: []string{"`"}, keywords: jsKeywords, inWord: "$"}
	case "rs", "rust":
		return &language{line: slashes, blocks: stars, quotes: `"'`, keywords: rustKeywords, lifetimes: true}
	case "c", "h", "cpp", "c++", "cc", "cxx", "hpp", "objc":
		return &language{line: slashes, blocks: stars, quotes: `"'`, keywords: cKeywords}
	case "java", "kotlin", "kt", "cs", "csharp", "c#", "scala":
		return &language{line: slashes, blocks: stars, quotes: `"'`, long: []string{`"""`}, keywords: cKeywords + javaKeywords}
	case "sh", "bash", "zsh", "shell", "console", "fish", "dockerfile", "makefile", "make":
		return &language{line: []string{"#"}, long: []string{`"`}, quotes: "'", keywords: shKeywords, inWord: "-", variables: true}
	case "json", "jsonc", "json5", "jsonl":
		return &language{line: slashes, quotes: `"`, keywords: "true false null", keySign: ':'}
	case "yaml", "yml":
		return &language{line: []string{"#"}, quotes: `"'`, keywords: "true false null yes no", inWord: "-", keySign: ':'}
	case "toml", "ini", "conf", "properties":
		return &language{line: []string{"#", ";"}, long: []string{`"""`, `'''`}, quotes: `"'`, keywords: "true false", inWord: "-.", keySign: '='}
	case "sql", "postgresql", "mysql", "sqlite":
		return &language{line: []string{"--"}, blocks: stars, quotes: `'"`, keywords: sqlKeywords, fold: true}
	case "html", "xml", "svg", "vue":
		return &language{blocks: [][2]string{{"<!--", "-->"}}, quotes: `"'`, inWord: "-:", keySign: '=', markup: true}
	case "css", "scss", "less":
		return &language{blocks: stars, quotes: `"'`, inWord: "-", keySign: ':', keywords: "@media @import @font-face @keyframes @supports"}
	case "diff", "patch":
		return &language{diff: true}
	}
	return nil
}
