"""Make the bundled example: Python's own docstrings, two kinds of queries, three search systems.

Needs bm25s and scikit-learn beside the package: `pip install . bm25s scikit-learn`, then
`python benchmarks/make_example.py`. The same Python and packages give the same files; their versions
are recorded in `meta.json`. Nothing is tuned: each system runs with its package's defaults.

Judgements follow rules, not a person's reading of each result:

- A *known-item* query is the first sentence of one docstring without the words of the object's name;
  a short one keeps the first four words of at least four letters. That object has grade 2; others of
  its module that share a word of the name have grade 1; the rest of the module, and what has the same
  name in another module, have grade 0.
- A *topical* query is a line of `TOPICS`: patterns of names for grades 2, 1 and 0; the first that
  matches counts.

Whatever no rule names is unjudged.
"""

import hashlib
import importlib
import inspect
import json
import platform
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

import bm25s
import numpy as np
import polars as pl
from sklearn.feature_extraction.text import TfidfVectorizer

FOLDER = Path(__file__).parents[1] / "polars_rank" / "example_data"
DEPTH = 50
TEXT_LENGTH = 300
KNOWN_ITEMS = 180
KNOWN_ITEMS_PER_MODULE = 3
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*[A-Za-z]")

# Modules whose source has licence terms of its own, such as logging and sqlite3, are left out.
MODULES = """
abc argparse array ast asyncio atexit base64 binascii bisect builtins bz2 calendar cmath code codecs
collections colorsys compileall concurrent.futures configparser contextlib copy csv dataclasses datetime
decimal difflib dis email.message email.policy email.utils enum faulthandler filecmp fileinput fnmatch
fractions ftplib functools gc getopt getpass gettext glob graphlib gzip hashlib heapq hmac html html.parser
http.client http.cookiejar http.server imaplib importlib importlib.metadata importlib.resources
importlib.util inspect io ipaddress itertools json keyword linecache locale lzma mailbox marshal math
mimetypes mmap multiprocessing netrc numbers operator os os.path pathlib pickle pickletools pkgutil plistlib
poplib pprint py_compile queue quopri random re reprlib runpy sched secrets select selectors shelve shlex
shutil signal smtplib socket socketserver ssl stat statistics string struct subprocess symtable sys
sysconfig tempfile textwrap threading time timeit tokenize tomllib traceback tracemalloc types typing
unicodedata urllib.parse urllib.request urllib.robotparser uuid warnings wave weakref webbrowser
wsgiref.util xml.dom.minidom xml.sax.saxutils zipapp zipfile zlib zoneinfo
""".split()  # noqa: SIM905 (a list literal is 150 lines)

# Query, then patterns of names: what answers it (2), what helps (1), what is near and doesn't (0).
TOPICS = [
    (
        "compress bytes",
        "zlib.compress gzip.compress bz2.compress lzma.compress",
        "zlib.compressobj *.*Compressor *.*Compressor.compress *.*Compressor.flush",
        "zlib.* gzip.* bz2.* lzma.* itertools.compress",
    ),
    (
        "read a file that was packed with gzip",
        "gzip.open gzip.GzipFile",
        "gzip.decompress gzip.GzipFile.*",
        "gzip.* bz2.open lzma.open zlib.*",
    ),
    (
        "checksum of data",
        "zlib.crc32 zlib.adler32",
        "hashlib.md5 hashlib.new hashlib.file_digest hashlib.sha1 hashlib.sha256",
        "hashlib.* zlib.* builtins.hash zipfile.ZipFile.testzip",
    ),
    (
        "parse dates from text",
        "datetime.datetime.strptime time.strptime datetime.*.fromisoformat",
        "email.utils.parsedate* datetime.date.fromisocalendar",
        "datetime.* time.* email.utils.*",
    ),
    (
        "show a date the way people write it",
        "datetime.*.strftime time.strftime",
        "*.ctime *.asctime datetime.*.isoformat email.utils.format*date*",
        "datetime.* time.* calendar.*",
    ),
    (
        "convert between time zones",
        "datetime.datetime.astimezone zoneinfo.ZoneInfo.fromutc datetime.*.fromutc",
        "zoneinfo.* datetime.timezone* datetime.tzinfo* datetime.*.utcoffset time.tzset time.localtime "
        "time.gmtime",
        "datetime.* time.*time",
    ),
    (
        "how many days a month has",
        "calendar.monthrange",
        "calendar.monthcalendar calendar.*.itermonthd* calendar.*.monthd*calendar",
        "calendar.* datetime.date.*",
    ),
    (
        "leap year",
        "calendar.isleap calendar.leapdays",
        "",
        "calendar.* datetime.date.*",
    ),
    (
        "wait some seconds",
        "time.sleep asyncio.sleep",
        "threading.Timer threading.Event.wait asyncio.wait_for sched.scheduler.enter signal.alarm "
        "asyncio.timeout",
        "time.* *.*.wait *.wait",
    ),
    (
        "measure how long code takes to run",
        "timeit.timeit timeit.repeat timeit.Timer timeit.Timer.timeit time.perf_counter*",
        "timeit.Timer.* time.process_time* time.monotonic* time.thread_time*",
        "time.* datetime.* tracemalloc.* timeit.*",
    ),
    (
        "random number in a range",
        "random.randint random.randrange random.uniform random.Random.randint random.Random.randrange "
        "random.Random.uniform secrets.randbelow",
        "random.choice random.Random.choice random.triangular random.Random.triangular",
        "random.* secrets.* os.urandom builtins.range",
    ),
    (
        "pick several elements without repeats",
        "random.sample random.Random.sample",
        "random.choices random.Random.choices itertools.combinations random.shuffle random.Random.shuffle",
        "random.* itertools.* secrets.*",
    ),
    (
        "make a password that nobody can guess",
        "secrets.token_* secrets.choice",
        "secrets.randbelow os.urandom os.getrandom random.SystemRandom",
        "secrets.* random.* getpass.* hashlib.*",
    ),
    (
        "ask for a password without showing it",
        "getpass.getpass",
        "builtins.input",
        "getpass.* secrets.* *.*password* *.*passwd*",
    ),
    (
        "check a signed message",
        "hmac.digest hmac.new secrets.compare_digest",
        "hmac.HMAC*",
        "hashlib.* ssl.* hmac.*",
    ),
    (
        "list files in a directory",
        "os.listdir os.scandir pathlib.Path.iterdir",
        "os.walk os.fwalk glob.glob glob.iglob pathlib.Path.glob pathlib.Path.rglob ftplib.FTP.nlst "
        "ftplib.FTP.dir",
        "os.DirEntry* os.*dir* pathlib.* glob.* shutil.* tempfile.*",
    ),
    (
        "find files by wildcard",
        "glob.glob glob.iglob pathlib.Path.glob pathlib.Path.rglob",
        "fnmatch.* pathlib.PurePath.match shutil.ignore_patterns",
        "glob.* os.* pathlib.* re.*",
    ),
    (
        "delete a folder and everything in it",
        "shutil.rmtree",
        "os.removedirs os.rmdir pathlib.Path.rmdir tempfile.TemporaryDirectory mailbox.*.remove_folder",
        "os.* shutil.* pathlib.*",
    ),
    (
        "create nested directories",
        "os.makedirs pathlib.Path.mkdir",
        "os.mkdir",
        "os.* pathlib.* tempfile.* shutil.*",
    ),
    (
        "copy a file",
        "shutil.copy shutil.copy2 shutil.copyfile",
        "shutil.copyfileobj shutil.copytree os.copy_file_range shutil.move os.sendfile",
        "shutil.* os.* copy.* pathlib.*",
    ),
    (
        "size of a file on disk",
        "os.path.getsize os.stat pathlib.Path.stat",
        "os.fstat os.lstat os.DirEntry.stat pathlib.Path.lstat shutil.disk_usage os.stat_result",
        "os.* pathlib.* shutil.* sys.getsizeof",
    ),
    (
        "file extension",
        "os.path.splitext pathlib.PurePath.with_suffix",
        "mimetypes.*guess_extension mimetypes.*guess_all_extensions",
        "os.path.* pathlib.* mimetypes.*",
    ),
    (
        "join parts of a path",
        "os.path.join pathlib.PurePath.joinpath",
        "os.path.normpath urllib.parse.urljoin os.path.split",
        "os.path.* pathlib.* builtins.*.join shlex.join",
    ),
    (
        "home directory of the user",
        "pathlib.Path.home os.path.expanduser pathlib.Path.expanduser",
        "getpass.getuser",
        "os.path.* pathlib.* os.*",
    ),
    (
        "temporary file",
        "tempfile.TemporaryFile tempfile.NamedTemporaryFile tempfile.mkstemp",
        "tempfile.*",
        "os.* io.* shutil.*",
    ),
    (
        "are two files equal",
        "filecmp.cmp",
        "filecmp.cmpfiles filecmp.dircmp os.path.samefile pathlib.Path.samefile",
        "filecmp.* os.path.* difflib.* pathlib.*",
    ),
    (
        "show what changed between two texts",
        "difflib.unified_diff difflib.context_diff difflib.ndiff difflib.Differ.compare",
        "difflib.Differ difflib.HtmlDiff* difflib.SequenceMatcher* difflib.diff_bytes difflib.restore",
        "difflib.* filecmp.*",
    ),
    (
        "closest matching word",
        "difflib.get_close_matches",
        "difflib.SequenceMatcher*",
        "difflib.* re.*",
    ),
    (
        "split a string into words",
        "builtins.str.split shlex.split",
        "builtins.str.rsplit re.split re.Pattern.split builtins.str.partition builtins.str.splitlines "
        "string.capwords",
        "builtins.* shlex.* re.* textwrap.* string.*",
    ),
    (
        "strip whitespace",
        "builtins.str.strip builtins.str.lstrip builtins.str.rstrip",
        "builtins.*.strip builtins.*.lstrip builtins.*.rstrip textwrap.dedent inspect.cleandoc",
        "builtins.* textwrap.* string.*",
    ),
    (
        "upper case to lower case",
        "builtins.str.lower builtins.str.casefold",
        "builtins.str.swapcase builtins.*.lower builtins.str.upper builtins.str.title "
        "builtins.str.capitalize",
        "builtins.* string.*",
    ),
    (
        "wrap long lines of text",
        "textwrap.wrap textwrap.fill textwrap.TextWrapper textwrap.TextWrapper.*",
        "textwrap.shorten",
        "textwrap.* functools.wraps io.*",
    ),
    (
        "remove common indentation",
        "textwrap.dedent",
        "inspect.cleandoc",
        "textwrap.* inspect.*",
    ),
    (
        "search and replace with a regular expression",
        "re.sub re.subn re.Pattern.sub re.Pattern.subn",
        "re.search re.Pattern.search re.Match.expand builtins.str.replace re.compile",
        "re.* builtins.*.replace fnmatch.*",
    ),
    (
        "escape special characters in a pattern",
        "re.escape glob.escape",
        "shlex.quote html.escape xml.sax.saxutils.escape",
        "re.* html.* glob.* fnmatch.* codecs.*",
    ),
    (
        "escape text for a web page",
        "html.escape",
        "xml.sax.saxutils.escape xml.sax.saxutils.quoteattr urllib.parse.quote*",
        "html.* xml.* re.escape glob.escape urllib.parse.*",
    ),
    (
        "quote an argument for the shell",
        "shlex.quote shlex.join",
        "shlex.split",
        "shlex.* subprocess.* urllib.parse.quote*",
    ),
    (
        "percent-encode a query string",
        "urllib.parse.urlencode urllib.parse.quote urllib.parse.quote_plus",
        "urllib.parse.quote_from_bytes urllib.parse.parse_qs*",
        "urllib.* base64.* html.*",
    ),
    (
        "take a web address apart",
        "urllib.parse.urlparse urllib.parse.urlsplit",
        "urllib.parse.urldefrag urllib.parse.parse_qs* urllib.parse.urlunparse urllib.parse.urlunsplit",
        "urllib.* ipaddress.* wsgiref.*",
    ),
    (
        "download a web page",
        "urllib.request.urlopen urllib.request.urlretrieve",
        "urllib.request.URLopener.open urllib.request.build_opener http.client.HTTPConnection.request "
        "http.client.HTTPConnection.getresponse",
        "urllib.* http.* webbrowser.* ftplib.* html.*",
    ),
    (
        "open a link in the browser",
        "webbrowser.open webbrowser.open_new webbrowser.open_new_tab",
        "webbrowser.*",
        "urllib.* os.*link http.*",
    ),
    (
        "may a crawler fetch this page",
        "urllib.robotparser.RobotFileParser.can_fetch",
        "urllib.robotparser.*",
        "urllib.request.* http.*",
    ),
    (
        "send an email",
        "smtplib.SMTP.sendmail smtplib.SMTP.send_message",
        "smtplib.SMTP smtplib.SMTP_SSL smtplib.SMTP.mail smtplib.SMTP.rcpt smtplib.SMTP.data",
        "smtplib.* email.* mailbox.* imaplib.* poplib.*",
    ),
    (
        "name and address of a sender",
        "email.utils.parseaddr email.utils.getaddresses",
        "email.utils.formataddr",
        "email.* smtplib.* socket.getaddrinfo socket.getnameinfo",
    ),
    (
        "look up the IP address of a host name",
        "socket.gethostbyname socket.getaddrinfo socket.gethostbyname_ex",
        "socket.gethostbyaddr socket.getfqdn socket.getnameinfo socket.gethostname",
        "socket.* ipaddress.*",
    ),
    (
        "addresses in a subnet",
        "ipaddress.ip_network ipaddress.IPv4Network ipaddress.IPv6Network ipaddress.*.hosts",
        "ipaddress.summarize_address_range ipaddress.collapse_addresses ipaddress.ip_interface",
        "ipaddress.* socket.*",
    ),
    (
        "listen for incoming connections",
        "socket.*.listen socket.create_server asyncio.start_server asyncio.*.create_server",
        "socket.*.accept socket.*.bind socketserver.TCPServer socketserver.BaseServer.serve_forever "
        "asyncio.*.serve_forever asyncio.start_unix_server",
        "socket.* socketserver.* http.server.* asyncio.*Server*",
    ),
    (
        "read JSON",
        "json.load json.loads",
        "json.JSONDecoder*",
        "json.* pickle.* plistlib.* tomllib.*",
    ),
    (
        "turn an object into JSON text",
        "json.dumps json.dump",
        "json.JSONEncoder*",
        "json.* pickle.* marshal.* plistlib.* pprint.*",
    ),
    (
        "save objects to disk and load them again",
        "pickle.dump pickle.load shelve.open",
        "pickle.dumps pickle.loads pickle.Pickler* pickle.Unpickler* shelve.* marshal.dump marshal.load",
        "pickle.* marshal.* json.* copy.* pickletools.*",
    ),
    (
        "read rows of a CSV file",
        "csv.reader",
        "csv.Sniffer* csv.get_dialect csv.register_dialect csv.Dialect",
        "csv.* io.*",
    ),
    (
        "settings file with sections",
        "configparser.ConfigParser configparser.*.read configparser.*.sections configparser.*.read_file",
        "configparser.RawConfigParser* configparser.SectionProxy* configparser.*Interpolation tomllib.load*",
        "configparser.* tomllib.* sysconfig.* json.* netrc.*",
    ),
    (
        "parse command line arguments",
        "argparse.ArgumentParser getopt.getopt getopt.gnu_getopt",
        "argparse.Action argparse.Namespace argparse.FileType argparse.ArgumentTypeError "
        "argparse.ArgumentError",
        "argparse.* shlex.* sys.*",
    ),
    (
        "parse XML",
        "xml.dom.minidom.parse*",
        "",
        "xml.* html.* plistlib.*",
    ),
    (
        "run another program and get its output",
        "subprocess.run subprocess.check_output subprocess.getoutput subprocess.getstatusoutput",
        "subprocess.Popen subprocess.Popen.communicate subprocess.CompletedProcess subprocess.call "
        "subprocess.check_call os.system",
        "subprocess.* os.* runpy.*",
    ),
    (
        "where is an executable",
        "shutil.which",
        "os.get_exec_path sysconfig.get_path*",
        "shutil.* sysconfig.* os.* multiprocessing.set_executable",
    ),
    (
        "environment variable",
        "os.getenv os.getenvb os.putenv os.unsetenv",
        "os.path.expandvars",
        "os.* sysconfig.*",
    ),
    (
        "run a function in several processes",
        "multiprocessing.Pool concurrent.futures.ProcessPoolExecutor*",
        "concurrent.futures.Executor.* concurrent.futures.ThreadPoolExecutor.* os.fork",
        "multiprocessing.* threading.* subprocess.* asyncio.* os.*spawn* sched.*",
    ),
    (
        "only one thread at a time",
        "threading.Lock threading.RLock multiprocessing.Lock multiprocessing.RLock asyncio.Lock",
        "threading.*Semaphore* threading.Condition asyncio.Lock.* asyncio.*Semaphore* "
        "multiprocessing.*Semaphore",
        "threading.* queue.* asyncio.* multiprocessing.*",
    ),
    (
        "wait until all coroutines are done",
        "asyncio.gather asyncio.wait",
        "asyncio.as_completed asyncio.wait_for asyncio.run asyncio.*.run_until_complete "
        "concurrent.futures.wait",
        "asyncio.* inspect.*coroutine* threading.* concurrent.*",
    ),
    (
        "remember results of function calls",
        "functools.lru_cache functools.cache",
        "",
        "functools.* linecache.* re.purge *.clear_cache *.invalidate_caches",
    ),
    (
        "fix some arguments of a function",
        "functools.partial functools.partialmethod",
        "operator.methodcaller",
        "functools.* inspect.*",
    ),
    (
        "parameters that a function takes",
        "inspect.signature inspect.getfullargspec inspect.Signature inspect.Signature.from_callable",
        "inspect.Parameter* inspect.Signature.* inspect.BoundArguments* inspect.getcallargs inspect.getargs",
        "inspect.* functools.* typing.get_type_hints",
    ),
    (
        "source code of an object",
        "inspect.getsource inspect.getsourcelines",
        "inspect.findsource inspect.getsourcefile inspect.getfile inspect.getblock",
        "inspect.* linecache.* dis.* ast.*",
    ),
    (
        "all orderings of a list",
        "itertools.permutations",
        "itertools.product itertools.combinations*",
        "itertools.* builtins.list.* math.perm builtins.sorted random.*",
    ),
    (
        "flatten nested iterables",
        "itertools.chain itertools.chain.from_iterable",
        "builtins.sum",
        "itertools.* collections.ChainMap*",
    ),
    (
        "largest elements",
        "heapq.nlargest builtins.max",
        "builtins.sorted heapq.nsmallest collections.Counter.most_common",
        "heapq.* builtins.* statistics.*",
    ),
    (
        "insert and keep sorted",
        "bisect.insort*",
        "bisect.* heapq.heappush builtins.sorted",
        "builtins.*.insert builtins.list.* heapq.* collections.*",
    ),
    (
        "count how often each element occurs",
        "collections.Counter",
        "collections.Counter.* operator.countOf builtins.list.count builtins.tuple.count",
        "collections.* builtins.* itertools.* statistics.*",
    ),
    (
        "order tasks by their dependencies",
        "graphlib.TopologicalSorter graphlib.TopologicalSorter.static_order",
        "graphlib.*",
        "sched.* asyncio.* queue.* heapq.*",
    ),
    (
        "standard deviation",
        "statistics.stdev statistics.pstdev",
        "statistics.variance statistics.pvariance statistics.NormalDist*",
        "statistics.* random.* math.*",
    ),
    (
        "middle value of data",
        "statistics.median*",
        "statistics.quantiles statistics.mean statistics.fmean",
        "statistics.*",
    ),
    (
        "greatest common divisor",
        "math.gcd",
        "math.lcm fractions.Fraction",
        "math.* builtins.divmod fractions.* decimal.*",
    ),
    (
        "round a decimal number",
        "builtins.round decimal.*.quantize decimal.*.to_integral*",
        "math.floor math.ceil math.trunc",
        "decimal.* math.* builtins.float* fractions.*",
    ),
    (
        "bytes to hexadecimal",
        "binascii.hexlify binascii.b2a_hex builtins.bytes.hex base64.b16encode builtins.bytearray.hex",
        "builtins.memoryview.hex builtins.hex",
        "binascii.* base64.* builtins.bytes.* builtins.float.* hashlib.*",
    ),
    (
        "normalize accented characters",
        "unicodedata.*normalize",
        "unicodedata.*is_normalized unicodedata.*decomposition unicodedata.*combining builtins.str.casefold",
        "unicodedata.* locale.normalize codecs.* decimal.*",
    ),
    (
        "memory used by an object",
        "sys.getsizeof",
        "tracemalloc.get_* tracemalloc.Snapshot* tracemalloc.Statistic* tracemalloc.take_snapshot",
        "tracemalloc.* gc.* sys.* weakref.*",
    ),
    (
        "print the traceback of an exception",
        "traceback.print_exc traceback.print_exception traceback.format_exc traceback.format_exception",
        "traceback.print_* traceback.format_* traceback.TracebackException* sys.excepthook",
        "traceback.* faulthandler.* inspect.* sys.*",
    ),
    (
        "ignore an exception",
        "contextlib.suppress",
        "",
        "contextlib.* warnings.* codecs.ignore_errors builtins.*Error builtins.*Exception*",
    ),
    (
        "extract an archive",
        "shutil.unpack_archive zipfile.ZipFile.extractall",
        "zipfile.ZipFile.extract zipfile.ZipFile",
        "zipfile.* shutil.* zipapp.*",
    ),
    (
        "unique identifier",
        "uuid.UUID uuid.uuid*",
        "builtins.id threading.get_ident email.utils.make_msgid",
        "uuid.* secrets.* *.*identifier*",
    ),
]


def collect_items() -> dict[str, tuple[str, str]]:
    """Qualified name of each public class, function and method to (module, docstring)."""
    items: dict[str, tuple[str, str]] = {}
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names = getattr(module, "__all__", None) or [n for n in vars(module) if is_own(module, n)]
        # An object's own name comes before its aliases, so that array.array isn't called array.ArrayType.
        for name in sorted(names, key=lambda n: (getattr(getattr(module, n), "__name__", n) != n, n)):
            thing = getattr(module, name)
            if name.startswith("_") or id(thing) in seen:
                continue
            if inspect.isclass(thing) or inspect.isroutine(thing):
                seen.add(id(thing))
                for path, docstring in docstrings(name, thing):
                    if len(body_words(docstring)) >= 3:
                        items[f"{module_name}.{path}"] = (module_name, docstring)
    return dict(sorted(items.items()))


def is_own(module: object, name: str) -> bool:
    home = getattr(getattr(module, name), "__module__", None) or module.__name__
    return home.lstrip("_").split(".")[0] == module.__name__.split(".")[0]


def docstrings(name: str, thing: object) -> Iterator[tuple[str, str]]:
    """Docstrings that the object has itself: what it inherits belongs to another item, or to none."""
    if not inspect.isclass(thing):
        yield name, inspect.cleandoc(thing.__doc__ or "")
        return
    own = vars(thing)
    yield name, inspect.cleandoc(own["__doc__"]) if isinstance(own.get("__doc__"), str) else ""
    for member in sorted(own):
        method = None if member.startswith("_") else getattr(thing, member, None)
        if inspect.isroutine(method):
            yield f"{name}.{member}", inspect.cleandoc(method.__doc__ or "")


def without_signature(docstring: str) -> str:
    """Drop leading lines such as `compress(data, level=9) -> bytes`, which older C functions have."""
    lines = docstring.splitlines()
    while lines and (not lines[0].strip() or re.match(r"[\w.]+\s?\(.*", lines[0])):
        lines.pop(0)
    return "\n".join(lines)


def body_words(docstring: str) -> list[str]:
    return WORD.findall(without_signature(docstring))


def excerpt(docstring: str) -> str:
    text = " ".join(docstring.split())
    return text if len(text) <= TEXT_LENGTH else text[:TEXT_LENGTH].rsplit(" ", 1)[0]


def first_sentence(docstring: str) -> str:
    paragraph = re.split(r"\n\s*\n", without_signature(docstring))[0]
    return re.split(r"(?<=[a-z)])[.:;](?:\s|$)", " ".join(paragraph.split()))[0]


def name_words(name: str) -> set[str]:
    """`format_exception` gives format and exception; `ZipFile` gives zip and file."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def without_name(sentence: str, path: str) -> list[str]:
    parts = {word for word in name_words(path) | set(path.lower().split(".")) if len(word) >= 3}
    return [
        word
        for word in WORD.findall(sentence)
        if not any(
            word.lower().startswith(part) or (len(word) >= 4 and part.startswith(word.lower()))
            for part in parts
        )
    ]


def known_item_queries(items: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Query text of each sampled item, spread over the modules, in an order that no one chose."""
    # By words of two letters: "the sine of x" and "the sine of z" would be one query with two answers.
    sentences = {item: first_sentence(docstring) for item, (_, docstring) in items.items()}
    occurrences = Counter(" ".join(WORD.findall(sentence)) for sentence in sentences.values())
    queries: dict[str, str] = {}
    taken: Counter[str] = Counter()
    for item in sorted(items, key=digest):
        module, sentence = items[item][0], sentences[item]
        words = without_name(sentence, item.removeprefix(f"{module}."))
        if digest(item)[-1] in "01234567":
            words = [word for word in words if len(word) >= 4][:4]
        text = " ".join(words)
        if (
            taken[module] < KNOWN_ITEMS_PER_MODULE
            and occurrences[" ".join(WORD.findall(sentence))] == 1
            and 3 <= len(words) <= 25
            and text not in queries.values()
        ):
            taken[module] += 1
            queries[item] = text
    return dict(sorted(list(queries.items())[:KNOWN_ITEMS]))


def digest(item: str) -> str:
    return hashlib.sha256(item.encode()).hexdigest()


def judge_known_item(target: str, items: dict[str, tuple[str, str]]) -> Iterator[tuple[str, int]]:
    module, target_name = items[target][0], target.rsplit(".", 1)[1]
    for item, (other_module, _) in items.items():
        name = item.rsplit(".", 1)[1]
        if item == target:
            yield item, 2
        elif other_module == module:
            yield item, int(share_a_word(target_name, name))
        elif name == target_name:
            yield item, 0


def share_a_word(name: str, other: str) -> bool:
    pairs = [(a, b) for a in name_words(name) for b in name_words(other)]
    return any(min(len(a), len(b)) >= 4 and (a.startswith(b) or b.startswith(a)) for a, b in pairs)


def judge_topic(
    patterns: dict[int, list[str]], items: dict[str, tuple[str, str]]
) -> Iterator[tuple[str, int]]:
    for item in items:
        for grade, choices in patterns.items():
            if any(fnmatchcase(item, pattern) for pattern in choices):
                yield item, grade
                break


def search(items: dict[str, tuple[str, str]], queries: list[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Scores of each system, one row a query, one column an item. A document is the name and the excerpt."""
    documents = [f"{item} {excerpt(docstring)}" for item, (_, docstring) in items.items()]
    tokens = bm25s.tokenize([*documents, *queries], return_ids=False, show_progress=False)
    bm25 = bm25s.BM25()
    bm25.index(tokens[: len(documents)], show_progress=False)
    yield "bm25", np.array([bm25.get_scores(query) for query in tokens[len(documents) :]])
    for system, vectorizer in {
        "char-tfidf": TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
        "word-tfidf": TfidfVectorizer(),
    }.items():
        vectors = vectorizer.fit_transform(documents)
        yield system, (vectorizer.transform(queries) @ vectors.T).toarray()


def top(scores: np.ndarray, names: list[str]) -> list[tuple[str, float]]:
    """The best items with a score above zero; rounded, so that a last bit can't change the files."""
    rounded = scores.astype(float).round(4).tolist()
    ranked = sorted((-score, name) for score, name in zip(rounded, names, strict=True) if score > 0)
    return [(name, -score) for score, name in ranked[:DEPTH]]


def main() -> None:
    items = collect_items()
    known = known_item_queries(items)
    queries, qrels = [], []
    for number, (target, text) in enumerate(known.items(), start=1):
        queries.append((f"k{number:03}", text, "known-item"))
        qrels += [(queries[-1][0], item, grade) for item, grade in judge_known_item(target, items)]
    for number, (text, *grades) in enumerate(TOPICS, start=1):
        patterns = {grade: choices.split() for grade, choices in zip((2, 1, 0), grades, strict=True)}
        queries.append((f"t{number:03}", text, "topical"))
        judgements = list(judge_topic(patterns, items))
        if not any(grade == 2 for _, grade in judgements):
            raise ValueError(f"no item of this Python answers the topic {text!r}; mend its patterns")
        qrels += [(queries[-1][0], item, grade) for item, grade in judgements]
    run = [
        (query, item, score, system)
        for system, scores in search(items, [text for _, text, _ in queries])
        for (query, *_), row in zip(queries, scores, strict=True)
        for item, score in top(row, list(items))
    ]
    tables = {
        "run": pl.DataFrame(run, schema=["query", "item", "score", "system"], orient="row"),
        "qrels": pl.DataFrame(qrels, schema=["query", "item", "relevance"], orient="row"),
        "queries": pl.DataFrame(queries, schema=["query", "text", "kind"], orient="row").with_columns(
            length=pl.when(pl.col("text").str.count_matches(" ") < 4)
            .then(pl.lit("short"))
            .otherwise(pl.lit("long"))
        ),
        "items": pl.DataFrame(
            [(item, excerpt(docstring), module) for item, (module, docstring) in items.items()],
            schema=["item", "text", "module"],
            orient="row",
        ),
    }
    for name, table in tables.items():
        table.write_parquet(FOLDER / f"{name}.parquet", compression="zstd", compression_level=19)
    meta = {
        "made_by": "benchmarks/make_example.py",
        "python": f"{platform.python_implementation()} {platform.python_version()} ({platform.system()})",
        "packages": {name: version(name) for name in ("bm25s", "numpy", "polars", "scikit-learn", "scipy")},
        "rows": {name: table.height for name, table in tables.items()},
    }
    (FOLDER / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(meta, indent=2))


if __name__ == "__main__":
    main()
