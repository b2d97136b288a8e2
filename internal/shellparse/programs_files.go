package shellparse

// fileRows are programs that list, make, move and remove files.
const fileRows = `
ls,dir,vdir | safe | r* | -aAbBcCdfFgGhHiklLmnNopqQrsStuUvxXZ1 -R/--recursive+ -I/--ignore: -T/--tabsize: -w/--width: -@ -% -e -O -W --all --almost-all --author --block-size: --color? --directory --dired --classify? --file-type
 --format: --full-time --group-directories-first --no-group --human-readable --si --dereference --hide: --hyperlink? --indicator-style: --inode --literal --numeric-uid-gid --quote-name --quoting-style: --reverse --size --sort: --time: --time-style: --zero --context
eza,exa,lsd | safe any | r* | -1GxFRTldaDfBbghHimnSUuZX@ -l -a -s/--sort: -L/--level: -I/--ignore-glob: -t/--time: --git --icons --tree+ --long --all
cat,tac,nl,rev,bat,batcat | safe any =cat | r* | -AbeEnstTuv -l/--language: -p -n -b: -d: -f: -h: -i: -s: -v: -w: -r/--line-range: -H: --pager:l -x: --style: --color: --paging:
cat | safe =cat | r* | -AbeEnstTuv --show-all --number --number-nonblank --show-ends --squeeze-blank --show-tabs --show-nonprinting
tac | safe | r* | -br -s/--separator: --before --regex
head | safe | r* | -n/--lines: -c/--bytes: -q/--quiet/--silent -v/--verbose -z/--zero-terminated -#
tail | safe | r* | -n/--lines: -c/--bytes: -q/--quiet/--silent -v/--verbose -z/--zero-terminated -f -F -r -b: --follow? -s/--sleep-interval: --pid: --retry --max-unchanged-stats: -#
less,more,most,pg | safe =pager | r* | -aABcCdeEfFgGhHiIJKLmMnNqQrRsSuUVwWX -# -b: -h: -j: -k:x -o/-O:w -p: -P: -t: -T:r -x: -y: -z: --use-color --quit-if-one-screen --RAW-CONTROL-CHARS --no-init --chop-long-lines --LINE-NUMBERS
wc | safe | r* | -cmlLw --bytes --chars --lines --max-line-length --words --files0-from:r --total:
stat | safe | r* | -L -f -t -c/--format: --printf: --dereference --file-system --terse --cached: -x -s -n -q -r -l -F
file | safe | r* | -bcdEhiIkLNnprsSvzZ0 -m/--magic-file:r -f/--files-from:r -e: -F: -P: -C! --mime --mime-type --mime-encoding --brief --dereference --uncompress
tree | safe | R* | -adfpsughDFqNQrtcUSnCAixXJlv -L: -P: -I: -o:w -H: -T: -R! --noreport --dirsfirst --prune --gitignore --charset: --filelimit: --du --si --inodes --device --sort: --timefmt: --matchdirs --ignore-case --fromfile --filesfirst --metafirst --hintro:r --houtro:r --gitfile:r
du | safe | R* | -0aAbcDhHklLmPsSx -B/--block-size: -d/--max-depth: -t/--threshold: -X/--exclude-from:r -I: --all --apparent-size --bytes --total --human-readable --summarize --si --exclude: --time? --time-style: --one-file-system --files0-from:r --separate-dirs --inodes --dereference
df | safe | r* | -aghHiklmPTvbtY -B/--block-size: -t/--type: -x/--exclude-type: --all --human-readable --inodes --local --output? --portability --si --total --print-type --sync!
ncdu,dust,duf,gdu | safe any | R* | -x -o:w -f:r -X:r -d:
realpath,readlink,grealpath,greadlink | safe | r* | -efmLPqsz -n -v --canonicalize --canonicalize-existing --canonicalize-missing --relative-to:r --relative-base:r --no-newline --strip --zero --logical --physical --no-symlinks --quiet
basename,dirname | safe | -* | -a/--multiple -s/--suffix: -z/--zero
mktemp | =mktemp | -* | -d/--directory -u/--dry-run -q/--quiet -p: --tmpdir? --suffix: -t
mkdir | | w* | -m/--mode: -p/--parents -v/--verbose -Z --context?
rmdir | | w* | -p/--parents -v/--verbose --ignore-fail-on-non-empty
touch | | w* | -acfhm -d/--date: -r/--reference:r -t: -A: --no-create --no-dereference --time:
rm | | w* | -f/--force -i -I -r/-R/--recursive+ -d/--dir -v/--verbose -P -x -W --interactive? --one-file-system --preserve-root? --no-preserve-root
srm,rmtrash,trash,trash-put | | W* | -frRvidI
unlink | | w* | --
shred | | w* | -f/--force -n/--iterations: -s/--size: -u/--remove? -v/--verbose -x/--exact -z/--zero --random-source:r
truncate,fallocate | | w* | -s/--size: -c/--no-create -o/--io-blocks/--offset: -r/--reference:r -l/--length: -n/--keep-size -x -z -p -d -i -v
cp | =into | r* w | -bdfHilLnNPpTuvxXZc -a/--archive+ -R/-r/--recursive+ -S/--suffix: -t/--target-directory:w^ --backup? --copy-contents --debug --force --interactive --link --dereference --no-clobber --no-dereference --preserve? --no-preserve: --parents
 --reflink? --remove-destination --sparse: --strip-trailing-slashes --symbolic-link --no-target-directory --update? --verbose --one-file-system --keep-directory-symlink --attributes-only --context? -s
mv | =into | m* w | -bfhinTuvZ -S/--suffix: -t/--target-directory:w^ --backup? --force --interactive --no-clobber --strip-trailing-slashes --no-target-directory --update? --verbose --debug --exchange --no-copy --context
ln | =into | r* w | -bdFfhiLnPrsTvw -S/--suffix: -t/--target-directory:w^ --backup? --directory --force --interactive --logical --no-dereference --physical --relative --symbolic --no-target-directory --verbose
link | | r w | --
install | =into | r* w | -bcCDpsTvZ -d/--directory -g/--group: -m/--mode: -o/--owner: -S/--suffix: -t/--target-directory:w^ --backup? --compare --preserve-timestamps --strip --strip-program:l --no-target-directory --verbose
rename,prename,file-rename | =rename | -* | --
mmv,vidir | | -* | --
chmod,gchmod | =mode | - w* | -cfvhHLP -R/--recursive+ --changes --quiet --silent --verbose --reference:r^ --preserve-root --no-preserve-root --dereference --no-dereference
chown,chgrp,gchown | | - w* | -cfhvHLPnx -R/--recursive+ --changes --dereference --no-dereference --from: --no-preserve-root --preserve-root --quiet --silent --reference:r^ --verbose
chattr | =mode | - w* | -fvV -p: -v: -R+
setfacl | | w* | -bkdnLPS -m/--modify: -M/--modify-file:r -x/--remove: -X/--remove-file:r -R/--recursive+ --set: --set-file:r --restore:r --test --mask --no-mask --default --remove-all --remove-default
xattr | | -* | -d -w -c -r -l -p
lsattr,getfacl,getcap,getfattr | safe | r* | -RaVdvplcesnt -n: -m: -e: -d
setcap,setfattr | | - w* | -r+ -q -v -n: -x: -n: -h
mknod | | w -* | -m/--mode: -Z
mkfifo | | w* | -m/--mode: -Z
dd | =dd | -* | --
sync,fsync | | r* | -d -f --data --file-system
patch | =patch | m r | -bcefElNnRstTuvZ -d/--directory:d -D: -F/--fuzz: -g: -i/--input:r -o/--output:w -p/--strip: -r/--reject-file:w -V: -Y: -z/--suffix: -B/--prefix: -x: --dry-run --backup --binary --forward --reverse --force --batch --ignore-whitespace --merge? --posix --quiet --silent --verbose --remove-empty-files --unified --context --no-backup-if-mismatch --follow-symlinks --backup-if-mismatch --ed!
diff,gdiff | safe | r* | -abBcdeEiIlnNpqrstTuvwyZ -r/--recursive+ -C/--context? -U/--unified? -W/--width: -I/--ignore-matching-lines: -x/--exclude: -X/--exclude-from:r -S/--starting-file: -F/--show-function-line: -D/--ifdef: -L/--label: -#
 --brief --report-identical-files --side-by-side --new-file --text --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --minimal --color? --from-file:r --to-file:r --no-dereference --strip-trailing-cr --normal --ed --rcs --expand-tabs --suppress-common-lines --speed-large-files --unidirectional-new-file --ignore-trailing-space --ignore-tab-expansion --line-format: --palette:
colordiff,delta,difft,diff3,sdiff,wdiff | safe any | r* | -u -r+ -N -q -o:w
cmp,comm | safe | r* | -bl123sz -i/--ignore-initial: -n/--bytes: --print-bytes --verbose --quiet --silent --check-order --nocheck-order --output-delimiter: --total --zero-terminated
md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,b2sum,sum,cksum,crc32,shasum,md5 | safe | r* | -bctzwqrs -a/--algorithm: -l/--length: -p -U -0 --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn --untagged --raw --base64 --debug
xxd | safe | r w | -abeipuEd -r! -c: -g: -l: -s: -n: -o: -C -R:
hexdump,hd,od | safe | r* | -bcCdovxBDeFHhiIlLOsXaf -A/--address-radix: -e: -f:r -j/--skip-bytes: -n: -N/--read-bytes: -s: -S/--strings: -t/--format: -w/--width? --output-duplicates --endian: --traditional --canonical
strings,nm,objdump,readelf,size,otool,dwarfdump | safe any | r* | -adfnptxCShlWsSuvgADrRjTDe -n: -t: -j: -e: -o
ldd | runs | r* | -druv --verbose
strip |  | m* | -sgSdxX -o:w -R: -K: -N: -v -p -D --strip-all --strip-debug --strip-unneeded
objcopy | any | r w | -I: -O: -B: -j: -R: -S -g
ctags,etags,cscope,gtags | any | r* | -f:w -o:w -R -e -a -L:r
logrotate | runs | r* | -d -f -v -s/--state:w -m/--mail:l -l/--log:w
updatedb | alters | -* | --
locate,mlocate,plocate | safe any | -* | -i -c -l: -n: -r: -d:r
`
