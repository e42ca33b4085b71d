"""Copies by non-temporal stores: into memory that nobody reads soon, past the caches."""

from __future__ import annotations

from dsim.backends.llvm.text import Module

LINE = 64  # bytes; each trip of the stream's loop writes two lines

# Up to the first line, and behind the last pair of lines, it copies as usual. Who calls it puts a fence
# behind the last call: without one, other threads may see later stores before these, on x86, too.
STREAM = f"""define void @dsim_stream(ptr %to, ptr %from, i64 %bytes) nounwind {{
entry:
  %address = ptrtoint ptr %to to i64
  %negated = sub i64 0, %address
  %ahead = and i64 %negated, {LINE - 1}
  %short = icmp slt i64 %bytes, %ahead
  %head = select i1 %short, i64 %bytes, i64 %ahead
  %aligned = icmp eq i64 %head, 0
  br i1 %aligned, label %middle, label %first
first:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %head, i1 false)
  br label %middle
middle:
  %left = sub i64 %bytes, %head
  %whole = and i64 %left, -{2 * LINE}
  %end = add i64 %head, %whole
  %some = icmp sgt i64 %whole, 0
  br i1 %some, label %lines, label %last
lines:
  %at = phi i64 [ %head, %middle ], [ %following, %lines ]
  %second = add i64 %at, {LINE}
  %source_0 = getelementptr i8, ptr %from, i64 %at
  %source_1 = getelementptr i8, ptr %from, i64 %second
  %values_0 = load <8 x i64>, ptr %source_0, align 1
  %values_1 = load <8 x i64>, ptr %source_1, align 1
  %target_0 = getelementptr i8, ptr %to, i64 %at
  %target_1 = getelementptr i8, ptr %to, i64 %second
  store <8 x i64> %values_0, ptr %target_0, align {LINE}, !nontemporal !100
  store <8 x i64> %values_1, ptr %target_1, align {LINE}, !nontemporal !100
  %following = add i64 %at, {2 * LINE}
  %more = icmp slt i64 %following, %end
  br i1 %more, label %lines, label %last
last:
  %rest = sub i64 %bytes, %end
  %over = icmp eq i64 %rest, 0
  br i1 %over, label %done, label %tail
tail:
  %rest_to = getelementptr i8, ptr %to, i64 %end
  %rest_from = getelementptr i8, ptr %from, i64 %end
  call void @llvm.memcpy.p0.p0.i64(ptr %rest_to, ptr %rest_from, i64 %rest, i1 false)
  br label %done
done:
  ret void
}}
!100 = !{{ i32 1 }}"""


def stream(module: Module) -> str:
    """The function ``(to, from, bytes)``."""
    return module.share("dsim_stream", STREAM)
