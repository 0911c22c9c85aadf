# SPDX-License-Identifier: Apache-2.0
# The file type classifier `magika` on file contents that its makers published with the label and
# the score that it gives. A content becomes 2048 numbers: its first 1024 bytes after white space and
# the last 1024 before white space, of blocks of 4096, filled up with 256 in the middle.
# MAGIKA_TARGET: the target, cpu if it is not given; another one has to give all scores that the cpu gives. The model takes a
# variance as the mean of squares minus the square of the mean: on its makers' contents down to 1e-7 of 0.5, so the order of two sums of
# 512 float32 numbers decides (one_pass_variance.py). Against float64 the scores of 60 contents are off by 4.1e-4 at most on the cpu and
# on gpu_generic, and by 1.2e-3 with ONNX Runtime.
. "$top_srcdir/tests/models/models.sh"
folder=$models/magika
if [ -z "$models" ] || [ ! -f "$folder/inference_examples_by_content.json.gz" ]; then
    echo "no model 'magika' here (set TENON_MODELS to a folder of ONNX test cases)"
    exit 77
fi
set -eu
count=6
[ -z "${TENON_LONG:-}" ] || count=1000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# label, score and content of the examples that the model decides, the same number of steps apart
zcat "$folder/inference_examples_by_content.json.gz" | sed 's/},{"prediction_mode/}\n{"prediction_mode/g' |
    sed -n 's/.*content_base64":"\([^"]*\)","status":"ok","prediction":{"dl":"\([^"]*\)".*"score":\([0-9.e-]*\),.*/\2 \3 \1/p' |
    grep -v '^undefined ' > "$tmp/all"
total=$(wc -l < "$tmp/all")
[ "$total" -gt 100 ] || { echo "only $total examples found"; exit 1; }
awk -v n="$count" -v total="$total" 'n >= total || int((NR - 1) * n / total) != int(NR * n / total)' "$tmp/all" > "$tmp/examples"
rows=$(wc -l < "$tmp/examples")

# the inputs as int32[rows, 2048] in a .npy file
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': ($rows, 2048), }" > "$tmp/bytes.npy"
while read -r label score content; do
    escaped=$(echo "$content" | base64 -d | od -An -v -tu1 -w1 | awk '
        { b[NR - 1] = $1 + 0 }
        function space(v) { return v == 32 || (v >= 9 && v <= 13) }
        function put(v) { printf "\\%03o\\%03o\\000\\000", v % 256, v / 256 }
        END {
            begin = 0; end = NR < 4096 ? NR : 4096
            while (begin < end && space(b[begin])) begin++
            for (i = 0; i < 1024; i++) put(begin + i < end ? b[begin + i] : 256)
            first = NR < 4096 ? 0 : NR - 4096; last = NR
            while (last > first && space(b[last - 1])) last--
            for (i = last - 1024; i < last; i++) put(i >= first ? b[i] : 256)
        }')
    # shellcheck disable=SC2059
    printf "$escaped" >> "$tmp/bytes.npy"
done < "$tmp/examples"
size=$(wc -c < "$tmp/bytes.npy")
[ "$size" -eq $((128 + rows * 8192)) ] || { echo "the input has $size bytes"; exit 1; }

"$TENON" run "$folder/model.onnx" -t "${MAGIKA_TARGET:-cpu}" -i "bytes=$tmp/bytes.npy" -o "$tmp/out" > "$tmp/log"
if [ "${MAGIKA_TARGET:-cpu}" != cpu ]; then
    "$TENON" run "$folder/model.onnx" -t cpu -i "bytes=$tmp/bytes.npy" --rtol 0 --atol 1e-3 --expect "#0=$(echo "$tmp/out"/0-*.npy)" > "$tmp/log"
fi
sed 's/.*"target_labels_space":\[\([^]]*\)\].*/\1/; s/"//g' "$folder/config.min.json" | tr ',' '\n' > "$tmp/labels"
tail -c +129 "$tmp/out"/0-*.npy | od -An -v -tf4 -w4 > "$tmp/scores"
awk '
    BEGIN { n = rows = k = 0 }
    FILENAME ~ /labels$/ { label[n++] = $1 }
    FILENAME ~ /examples$/ { want[rows] = $1; score[rows++] = $2 }
    FILENAME ~ /scores$/ {
        r = int(k / n); c = k++ % n
        if (c == 0 || $1 > best[r]) { best[r] = $1; at[r] = label[c] }
    }
    END {
        if (k != rows * n || !rows) { print "there are " k " scores for " rows " examples"; exit 1 }
        for (r = 0; r < rows; r++) {
            d = best[r] - score[r]
            if (at[r] != want[r] || d > 1e-4 || d < -1e-4) {
                print "example " r " is " at[r] " with " best[r] ", expected " want[r] " with " score[r]
                bad = 1
            }
        }
        print rows " examples"
        exit bad
    }' "$tmp/labels" "$tmp/examples" "$tmp/scores"
