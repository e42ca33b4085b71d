"""Views in files: pictures, videos, and pages that play a recording without a kernel.

It imports `live.scene`, and the page's module from `live.widget`. Begin with `saving.py`.
"""
